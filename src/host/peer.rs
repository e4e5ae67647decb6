//! Who stands at the other end of a connection over the loopback, as the kernel tells it.

use crate::host::ancestry::proxy_above;
use crate::store::StateDir;
use crate::surface::Caller;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Says whether a process that an agent started holds the other end, or one of another user.
///
/// A process that cannot be looked at, as in another container, counts as the person's: it has the person's token.
pub(crate) fn agents_hold(state: &StateDir, caller: &Caller) -> bool {
    let Some(socket) = socket_of(caller) else { return false };
    if socket.uid != rustix::process::getuid().as_raw() {
        return true;
    }
    holders(socket.inode).into_iter().any(|pid| proxy_above(state, pid).is_some())
}

/// A row of the kernel's table of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    uid: u32,
    inode: u64,
}

fn socket_of(caller: &Caller) -> Option<Socket> {
    ["/proc/self/net/tcp", "/proc/self/net/tcp6"].iter().find_map(|table| {
        let rows = std::fs::read_to_string(table).ok()?;
        rows.lines().skip(1).find_map(|row| read_row(row, caller))
    })
}

/// Reads a row, where it is the caller's: their address is the local one there.
fn read_row(row: &str, caller: &Caller) -> Option<Socket> {
    let mut fields = row.split_ascii_whitespace();
    let local = address(fields.nth(1)?)?;
    let remote = address(fields.next()?)?;
    if (local, remote) != (caller.theirs, caller.ours) {
        return None;
    }
    // State, queues, timer and retransmissions stand between.
    let uid = fields.nth(4)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    Some(Socket { uid, inode })
}

/// Reads `0100007F:1F90`: words in the machine's order, the port in the usual one.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    // A caller over IPv6 is one of `::ffff:127.0.0.1`: we listen on no other.
    let last = host.get(host.len().checked_sub(8)?..)?;
    let word = u32::from_str_radix(last, 16).ok()?;
    Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(word.to_ne_bytes())), port))
}

/// Finds the processes that hold a socket, of those that can be looked at.
fn holders(inode: u64) -> Vec<i32> {
    let name = format!("socket:[{inode}]");
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let Ok(open) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        open.flatten().any(|entry| {
            std::fs::read_link(entry.path()).is_ok_and(|target| target.as_os_str() == name.as_str())
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_from_the_callers_side() {
        let row = "   1: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 98765 1 0 20 4 0 10 -1";
        let at = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        let caller = Caller { theirs: at(0xD431), ours: at(0x1F90) };
        if cfg!(target_endian = "little") {
            assert_eq!(read_row(row, &caller), Some(Socket { uid: 1000, inode: 98765 }));
            let other = Caller { theirs: at(1), ours: at(0x1F90) };
            assert_eq!(read_row(row, &other), None);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_at_the_other_end_is_found() {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let ours = listener.local_addr().unwrap();
        let stream = std::net::TcpStream::connect(ours).unwrap();
        let caller = Caller { theirs: stream.local_addr().unwrap(), ours };
        let socket = socket_of(&caller).unwrap();
        assert_eq!(socket.uid, rustix::process::getuid().as_raw());
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(holders(socket.inode).contains(&me));
    }
}
