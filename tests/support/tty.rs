//! A program on a pseudo-terminal of its own, with a terminal emulator that reads it.

#![allow(clippy::disallowed_methods, reason = "this is about a process and its terminal")]

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program on a terminal of its own.
pub(crate) struct Tty {
    pub(crate) child: Child,
    master: File,
    emulator: Arc<Mutex<vt100::Parser>>,
}

impl Tty {
    pub(crate) fn run(mut command: Command, size: (u16, u16)) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("ours");
        unlockpt(&master).expect("ours");
        resize(&master, size);
        let name = ptsname(&master, Vec::new()).expect("named").into_string().expect("text");
        let own = || Stdio::from(File::options().read(true).write(true).open(&name).expect("opened"));
        command.stdin(own()).stdout(own()).stderr(own());
        #[expect(unsafe_code, reason = "between fork and exec only two system calls are made")]
        // SAFETY: neither call allocates or takes a lock.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
                Ok(())
            });
        }
        let child = command.spawn().expect("it starts");
        let emulator = Arc::new(Mutex::new(vt100::Parser::new(size.1, size.0, 0)));
        let (screen, mut output) = (Arc::clone(&emulator), File::from(master.try_clone().expect("cloned")));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                screen.lock().expect("nobody panics with it").process(&bytes[..read]);
            }
        });
        Self { child, master: File::from(master), emulator }
    }

    pub(crate) fn keys(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("it listens");
    }

    pub(crate) fn screen(&self) -> String {
        self.emulator.lock().expect("nobody panics with it").screen().contents()
    }

    /// Waits until the screen says something.
    pub(crate) fn sees(&self, what: &str) {
        let start = Instant::now();
        while !self.screen().contains(what) {
            assert!(start.elapsed() < PATIENCE, "{what} never came:\n{}", self.screen());
            std::thread::yield_now();
        }
    }

    pub(crate) fn loses(&self, what: &str) {
        until(what, || !self.screen().contains(what));
    }

    pub(crate) fn resize(&self, size: (u16, u16)) {
        self.emulator.lock().expect("nobody panics with it").screen_mut().set_size(size.1, size.0);
        resize(&self.master.as_fd().try_clone_to_owned().expect("cloned"), size);
    }

    /// Waits for its end and says whether the terminal is as it was.
    pub(crate) fn ends(mut self, code: i32) {
        until("it ends", || self.child.try_wait().expect("it was ours").is_some());
        let status = self.child.wait().expect("it was ours");
        assert_eq!(status.code(), Some(code));
        let cooked = tcgetattr(&self.master).expect("a terminal").local_modes;
        assert!(cooked.contains(LocalModes::ICANON | LocalModes::ECHO), "lines are edited again");
        until("the screen is given back", || {
            let emulator = self.emulator.lock().expect("nobody panics with it");
            let screen = emulator.screen();
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
    }
}

fn resize(master: &OwnedFd, (columns, rows): (u16, u16)) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(master, size).expect("a terminal");
}

/// Waits until something is so.
fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::yield_now();
    }
}
