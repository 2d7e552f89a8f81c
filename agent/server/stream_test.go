package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubeloupe/kubeloupe/trace"
)

// dialed is what a client received: the response to its request for an upgrade, and the messages of a WebSocket.
type dialed struct {
	code     int
	body     string
	messages []string
}

// dial requests an upgrade to WebSocket, sends messages and reads until the server closes.
func (w *world) dial(t *testing.T, path, protocol string, send ...string) dialed {
	t.Helper()
	tlsConfig, err := rest.TLSConfigFor(w.client())
	if err != nil {
		t.Fatal(err)
	}
	d := websocket.Dialer{TLSClientConfig: tlsConfig, Subprotocols: []string{protocol}}
	conn, res, err := d.DialContext(t.Context(), "wss"+strings.TrimPrefix(w.url, "https")+path, http.Header{"Authorization": {"Bearer root"}})
	if res == nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err != nil {
		p, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return dialed{code: res.StatusCode, body: string(p)}
	}
	defer conn.Close()
	got := dialed{code: res.StatusCode, body: conn.Subprotocol()}
	for _, m := range send {
		if err := conn.WriteMessage(websocket.BinaryMessage, []byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	for {
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		_, p, err := conn.ReadMessage()
		if err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				t.Error("the server does not close")
			}
			return got
		}
		got.messages = append(got.messages, string(p))
	}
}

// connect opens a WebSocket, which the test reads.
func (w *world) connect(t *testing.T, path, protocol string) *websocket.Conn {
	t.Helper()
	tlsConfig, err := rest.TLSConfigFor(w.client())
	if err != nil {
		t.Fatal(err)
	}
	d := websocket.Dialer{TLSClientConfig: tlsConfig, Subprotocols: []string{protocol}}
	conn, res, err := d.DialContext(t.Context(), "wss"+strings.TrimPrefix(w.url, "https")+path, http.Header{"Authorization": {"Bearer root"}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	t.Cleanup(func() { conn.Close() })
	return conn
}

// refusing is a runtime's streaming server that answers every request with the same text, and closes.
func refusing(t *testing.T, answer string) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				fmt.Fprint(conn, answer)
			}
			conn.Close()
		}
	}()
	return "http://" + l.Addr().String() + "/token"
}

// What the runtime's streaming server refuses, the client sees.
func TestRefusedStreams(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	endless := "HTTP/1.1 101 Switching Protocols\r\nX-Long: " + strings.Repeat("x", 2<<20) + "\r\n\r\n"
	const tunneling, v5 = "SPDY/3.1+portforward.k8s.io", "v5.channel.k8s.io"
	for _, c := range []struct {
		name, url, forward, exec string // the body for a port forward, and the message of the status for a command
		code                     int
	}{
		{"unknown token", refusing(t, "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\nContent-Type: text/plain\r\n\r\ngo!"), "go!", "unable to upgrade connection: go!", 404},
		{"no upgrade", refusing(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), "invalid upgrade response: status code 200", "unable to upgrade connection: ok", 500},
		{"redirect", refusing(t, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"), "invalid upgrade response: status code 302", "redirect not allowed", 500},
		{"wrong upgrade", refusing(t, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"), "unable to upgrade: missing upgrade headers in response", "unable to upgrade connection: ", 500},
		{"no answer", refusing(t, ""), "EOF", "EOF", 500},
		{"garbage", refusing(t, "garbage\r\n\r\n"), "malformed HTTP response", "malformed HTTP response", 500},
		{"endless", refusing(t, endless), "EOF", "", 500},
		{"nobody", closed.URL, "error dialing backend: dial tcp", "connection refused", 500},
		{"scheme", "ftp://127.0.0.1/", "unknown scheme: ftp", "error sending request: Post", 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := start(t, nil)
			w.runtime.location = c.url
			cur := w.bus.Subscribe(trace.FromNow)
			if got := w.dial(t, "/portForward/shop/web", tunneling); got.code != c.code || !strings.Contains(got.body, c.forward) {
				t.Errorf("port forward: %d %q, want %d and %q", got.code, got.body, c.code, c.forward)
			}
			got := w.dial(t, "/exec/shop/web/web?command=ls&output=1", v5)
			if got.code != http.StatusSwitchingProtocols || len(got.messages) != 2 || got.messages[0] != "\x01" || got.messages[1][0] != 3 {
				t.Fatalf("exec: %d, messages %q", got.code, got.messages)
			}
			for _, path := range []string{"/portForward/shop/web", "/exec/shop/web/web"} {
				if e := ended(t, cur); e.Path != path || !e.WebSocket {
					t.Errorf("published %+v, want %s with a WebSocket", e, path)
				}
			}
			var status metav1.Status
			if err := json.Unmarshal([]byte(got.messages[1][1:]), &status); err != nil {
				t.Fatal(err)
			}
			if status.Status != metav1.StatusFailure || status.Code != 500 || status.Reason != metav1.StatusReasonInternalError || !strings.Contains(status.Message, c.exec) {
				t.Errorf("exec: %+v, want an internal error with %q", status, c.exec)
			}
		})
	}
}

// ended is the next request that has ended.
func ended(t *testing.T, cur *trace.Cursor) *trace.ServerRequest {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		recs, _, err := cur.Next(ctx, make([]trace.Record, 0, 1))
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := recs[0].Event.(*trace.ServerRequest); ok && recs[0].Edge == trace.EdgeEnd {
			return e
		}
	}
}

// A WebSocket that can close single streams receives what the protocol's version 5 promises.
func TestTranslatedStreams(t *testing.T) {
	w := start(t, nil)
	for _, c := range []struct {
		name, path string
		send       []string
		want       []string
	}{
		{
			"exit code", "/exec/shop/web/web?command=exit&command=3&error=1", nil,
			[]string{"\x02", "\x02oh no", "\x03" + `{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: command terminated with exit code 3","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}`},
		},
		{
			"success", "/exec/shop/web/web?command=cat&input=1&output=1",
			[]string{"\x00hello", "\xff\x00"},
			[]string{"\x01", "\x01c1 [cat] ", "\x01hello", "\x03" + `{"metadata":{},"status":"Success"}`},
		},
		{
			"terminal", "/exec/shop/web/web?command=sizes&command=2&output=1&tty=1&error=1",
			[]string{"\x04" + `{"Width":80,"Height":24}` + "\n", "\x04" + `{"Width":100,"Height":30}` + "\n"},
			[]string{"\x01", "\x0180×24 ", "\x01100×30 ", "\x03" + `{"metadata":{},"status":"Success"}`},
		},
		{ // what is no size ends the sizes, and neither the input nor its end
			"broken sizes", "/exec/shop/web/web?command=cat&input=1&output=1&tty=1",
			[]string{"\x04" + `{"Width":-1}`, "\x04{}", "\x04{}", "\x00hello", "\xff\x00"},
			[]string{"\x01", "\x01c1 [cat] ", "\x01hello", "\x03" + `{"metadata":{},"status":"Success"}`},
		},
		{ // without a terminal, sizes are ignored and block nothing
			"sizes for nothing", "/exec/shop/web/web?command=cat&input=1&output=1",
			[]string{"\x04{}", "\x04{}", "\x04{}", "\x00hello", "\xff\x00"},
			[]string{"\x01", "\x01c1 [cat] ", "\x01hello", "\x03" + `{"metadata":{},"status":"Success"}`},
		},
		{
			"only input", "/attach/shop/web/web?input=1",
			[]string{"\x00hello", "\xff\x00"},
			[]string{"\x03", "\x03" + `{"metadata":{},"status":"Success"}`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := w.dial(t, c.path, "v5.channel.k8s.io", c.send...)
			if got.code != http.StatusSwitchingProtocols || got.body != "v5.channel.k8s.io" || strings.Join(got.messages, "") != strings.Join(c.want, "") {
				t.Errorf("%d, protocol %q, messages %q, want %q", got.code, got.body, got.messages, c.want)
			}
		})
	}
	if got := w.dial(t, "/exec/shop/web/web?command=cat&output=1", "v5.channel.k8s.io.none"); got.code == http.StatusSwitchingProtocols && got.body != "" {
		t.Errorf("an unknown protocol: %d, %q", got.code, got.body)
	}
}
