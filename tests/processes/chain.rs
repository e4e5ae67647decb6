//! One element of a proxy chain: a single connection to a conductor.

use crate::proxy::chain;

#[test]
fn the_conductors_frames_go_down_wrapped_and_come_up_bare() {
    let mut proxy = chain();
    proxy.send("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"proxy/initialize\",\"params\":{\"protocolVersion\":1}}\n");
    assert_eq!(
        proxy.line(),
        "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"proxy/successor\",\"params\":{\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}}\n"
    );
    let answer = "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"protocolVersion\":1}}\n";
    proxy.send(answer);
    assert_eq!(proxy.line(), answer);
    proxy.send("{\"jsonrpc\":\"2.0\",\"method\":\"proxy/successor\",\"params\":{\"method\":\"_up\",\"params\":[1e3]}}\n");
    assert_eq!(proxy.line(), "{\"jsonrpc\":\"2.0\",\"method\":\"_up\",\"params\":[1e3]}\n");
    proxy.close_input();
    assert_eq!(proxy.finish(), (String::new(), 0));
}
