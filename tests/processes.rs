//! Real processes: how a proxy starts, relays and ends between a scripted editor and scripted agents.
#![allow(clippy::disallowed_methods, reason = "these tests are about processes, files and time")]

#[path = "processes/assessors.rs"]
mod assessors;
#[path = "processes/authors.rs"]
mod authors;
#[path = "processes/cases.rs"]
mod cases;
#[path = "processes/chain.rs"]
mod chain;
#[path = "processes/demo.rs"]
mod demo;
#[path = "processes/durability.rs"]
mod durability;
#[path = "processes/ends.rs"]
mod ends;
#[cfg(feature = "web")]
#[path = "processes/figures.rs"]
mod figures;
#[path = "processes/housekeeping.rs"]
mod housekeeping;
#[path = "processes/judged.rs"]
mod judged;
#[cfg(target_os = "linux")]
#[path = "processes/kills.rs"]
mod kills;
#[path = "processes/lab.rs"]
mod lab;
#[cfg(feature = "mcp")]
#[path = "processes/mcp.rs"]
mod mcp;
#[cfg(feature = "web")]
#[path = "processes/page.rs"]
mod page;
#[path = "processes/project.rs"]
mod project;
#[path = "processes/proxy.rs"]
mod proxy;
#[path = "processes/recording.rs"]
mod recording;
#[path = "processes/relay.rs"]
mod relay;
#[path = "processes/repositories.rs"]
mod repositories;
#[path = "processes/said.rs"]
mod said;
#[path = "processes/scratch.rs"]
mod scratch;
#[path = "processes/secrets.rs"]
mod secrets;
#[path = "processes/shared.rs"]
mod shared;
#[cfg(feature = "tui")]
#[path = "processes/terminal.rs"]
mod terminal;
#[cfg(feature = "tui")]
#[path = "support/tty.rs"]
mod tty;
#[cfg(feature = "web")]
#[path = "processes/web.rs"]
mod web;
#[cfg(feature = "web")]
#[path = "processes/webdriver.rs"]
mod webdriver;
