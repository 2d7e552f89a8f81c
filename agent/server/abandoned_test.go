package server

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/kubeloupe/kubeloupe/agent/conns"
	"github.com/kubeloupe/kubeloupe/trace"
)

// keeping is a runtime's streaming server that switches to a protocol and keeps its connections, whatever their clients do.
func keeping(t *testing.T, protocol string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/token"
}

// The slot of a stream is free when its client is gone, although the runtime keeps its connection.
func TestAbandonedStreams(t *testing.T) {
	for _, protocol := range []string{"SPDY/3.1", "websocket"} { // a WebSocket without version 5 is passed on, as SPDY is
		t.Run(protocol, func(t *testing.T) {
			w := start(t, nil)
			w.runtime.location = keeping(t, protocol)
			cur := w.bus.Subscribe(trace.FromNow)
			conn := dial(t, "https", w.ports()["https"])
			fmt.Fprintf(conn, "GET /exec/shop/web/web?output=1 HTTP/1.1\r\nHost: node\r\nAuthorization: Bearer root\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("%+v, %v", res, err)
			}
			defer res.Body.Close() // nothing is in it: the stream is the connection
			w.abandon(t, cur, func() error { return conn.Close() })
		})
	}
}

// A client that closes its WebSocket, but not its connection, is gone too.
func TestAbandonedTranslation(t *testing.T) {
	w := start(t, nil)
	cur := w.bus.Subscribe(trace.FromNow)
	conn := w.connect(t, "/exec/shop/web/web?command=sleep&output=1", "v5.channel.k8s.io")
	for _, want := range []string{"\x01", "\x01c1 [sleep] "} {
		if _, p, err := conn.ReadMessage(); err != nil || string(p) != want {
			t.Fatalf("%q, %v, want %q", p, err, want)
		}
	}
	w.abandon(t, cur, func() error {
		return conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
	})
}

// abandon closes a client's side of the only stream, and checks that its slot is free when the request has ended.
func (w *world) abandon(t *testing.T, cur *trace.Cursor, leave func() error) {
	t.Helper()
	if got := taken(w.server.streams); got != 1 {
		t.Fatalf("%d slots are taken", got)
	}
	if err := leave(); err != nil {
		t.Fatal(err)
	}
	if e := ended(t, cur); e.Code != http.StatusSwitchingProtocols {
		t.Errorf("it ended with %+v", e)
	}
	if got := taken(w.server.streams); got != 0 {
		t.Errorf("%d slots are taken at the end", got)
	}
}

// opened opens a stream of each kind to a command that does not exit, or to a port, and returns their number when all are open.
func (w *world) opened(t *testing.T) int {
	t.Helper()
	n := 0
	for name, e := range executors(t, w, "/exec/shop/web/web?command=sleep&input=1&output=1") {
		in, stdin := io.Pipe()
		t.Cleanup(func() { stdin.Close() })
		stdout, out := io.Pipe()
		go func() {
			_ = e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: in, Stdout: out}) // how it ends depends on the protocol
			out.Close()
		}()
		said := make([]byte, len("c1 [sleep]"))
		if _, err := io.ReadFull(stdout, said); err != nil {
			t.Fatalf("%s: %q, %v", name, said, err)
		}
		go io.Copy(io.Discard, stdout) // it ends with the stream
		n++
	}
	w.tunneled(t)
	return n + 1
}

// taken returns how many of the slots of streams are taken.
func taken(s *conns.Share) int {
	free := 0
	for give := s.Take("a"); give != nil; give = s.Take(fmt.Sprint(free)) {
		defer give()
		free++
	}
	return streams - free
}

// tunneled opens a port forward over a WebSocket.
func (w *world) tunneled(t *testing.T) {
	t.Helper()
	u, err := url.Parse(w.url + "/portForward/shop/web")
	if err != nil {
		t.Fatal(err)
	}
	dialer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(u, w.client())
	if err != nil {
		t.Fatal(err)
	}
	conn, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
}

// Streams end with the agent, although neither their clients nor their commands do.
func TestStreamsEndWithTheServer(t *testing.T) {
	w := start(t, nil)
	open := w.opened(t)
	if got := taken(w.server.streams); got != open {
		t.Fatalf("%d slots are taken by %d streams", got, open)
	}
	cur := w.bus.Subscribe(trace.FromNow)
	w.stop()
	for range open {
		if e := ended(t, cur); !strings.HasPrefix(e.Path, "/exec/") && !strings.HasPrefix(e.Path, "/portForward/") {
			t.Errorf("%s ended", e.Path)
		}
	}
	if got := taken(w.server.streams); got != 0 {
		t.Errorf("%d slots are taken", got)
	}
}
