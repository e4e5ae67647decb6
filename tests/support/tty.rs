//! A program on a pseudo-terminal of its own, with a terminal emulator that reads it.

#![allow(clippy::disallowed_methods, reason = "this is about a process and its terminal")]

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program on a terminal of its own.
pub(crate) struct Tty {
    pub(crate) child: Child,
    master: File,
    screen: Arc<Screen>,
}

/// What the program has drawn, and that it drew.
struct Screen {
    emulator: Mutex<vt100::Parser>,
    drawn: Condvar,
}

impl Tty {
    pub(crate) fn run(mut command: Command, size: (u16, u16)) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
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
        let emulator = Mutex::new(vt100::Parser::new(size.1, size.0, 0));
        let screen = Arc::new(Screen { emulator, drawn: Condvar::new() });
        let (drawn, mut output) = (Arc::clone(&screen), File::from(master.try_clone().expect("cloned")));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                drawn.emulator.lock().expect("nobody panics with it").process(&bytes[..read]);
                drawn.drawn.notify_all();
            }
        });
        Self { child, master: File::from(master), screen }
    }

    pub(crate) fn keys(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("it listens");
    }

    pub(crate) fn screen(&self) -> String {
        self.screen.emulator.lock().expect("nobody panics with it").screen().contents()
    }

    /// Waits until the screen says something.
    pub(crate) fn sees(&self, what: &str) {
        self.until(what, |screen| screen.contents().contains(what));
    }

    /// Waits until one row says several things.
    pub(crate) fn sees_in_a_row(&self, what: &[&str]) {
        let says = |row: &str| what.iter().all(|one| row.contains(one));
        self.until(&what.join(" … "), |screen| screen.contents().lines().any(says));
    }

    /// Waits until the screen says something no more.
    pub(crate) fn loses(&self, what: &str) {
        self.until(what, |screen| !screen.contents().contains(what));
    }

    /// Waits until the screen is as it should be.
    pub(crate) fn until(&self, what: &str, mut so: impl FnMut(&vt100::Screen) -> bool) {
        let emulator = self.screen.emulator.lock().expect("nobody panics with it");
        let not_yet = |emulator: &mut vt100::Parser| !so(emulator.screen());
        let (emulator, over) =
            self.screen.drawn.wait_timeout_while(emulator, PATIENCE, not_yet).expect("nobody panics with it");
        assert!(!over.timed_out(), "waited in vain for {what}:\n{}", emulator.screen().contents());
    }

    pub(crate) fn resize(&self, size: (u16, u16)) {
        self.screen.emulator.lock().expect("nobody panics with it").screen_mut().set_size(size.1, size.0);
        resize(&self.master.as_fd().try_clone_to_owned().expect("cloned"), size);
    }

    /// Presses `q` and waits for its end.
    pub(crate) fn leaves(mut self) {
        self.keys("q");
        self.ends(0);
    }

    /// Waits for its end and says whether the terminal is as it was.
    pub(crate) fn ends(mut self, code: i32) {
        assert_eq!(self.ended().code(), Some(code));
        let cooked = tcgetattr(&self.master).expect("a terminal").local_modes;
        assert!(cooked.contains(LocalModes::ICANON | LocalModes::ECHO), "lines are edited again");
        self.until("the screen given back", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
    }
}

impl Tty {
    fn ended(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it was ours") {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it does not end:\n{}", self.screen());
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }
}

impl Drop for Tty {
    /// A test that fails leaves no program behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resize(master: &OwnedFd, (columns, rows): (u16, u16)) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(master, size).expect("a terminal");
}
