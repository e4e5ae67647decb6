//! What a stat says, in the same types on every system: those of C differ.

use rustix::fs::{Mode, RawMode, Stat};

/// Returns the kind and the permissions.
#[allow(clippy::useless_conversion, reason = "16 bits on macOS")]
pub(crate) fn mode(stat: &Stat) -> u32 {
    u32::from(stat.st_mode)
}

/// Says whether a mode is a regular file's.
pub(crate) fn is_regular(mode: u32) -> bool {
    mode & 0o170_000 == 0o100_000
}

/// Returns the number of names.
#[allow(clippy::useless_conversion, reason = "16 bits on macOS, 32 on some Linux")]
pub(crate) fn links(stat: &Stat) -> u64 {
    u64::from(stat.st_nlink)
}

/// Returns device and inode, as `std` has them.
#[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, reason = "a device is signed on macOS")]
pub(crate) fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev as u64, stat.st_ino)
}

/// Makes permissions of their bits.
#[allow(clippy::unnecessary_cast, clippy::cast_possible_truncation, reason = "permissions are 12 bits")]
pub(crate) fn permissions(bits: u32) -> Mode {
    Mode::from_raw_mode((bits & 0o7777) as RawMode)
}
