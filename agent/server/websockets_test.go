package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Without the feature gate ExtendWebSocketsToKubelet, the runtime's streaming server gets requests for WebSockets as clients send them.
func TestWebSocketsThatAreNotTranslated(t *testing.T) {
	const tunneling, v5, exec, forward = "SPDY/3.1+portforward.k8s.io", "v5.channel.k8s.io", "/exec/shop/web/web?command=ls&output=1", "/portForward/shop/web"
	spdy, passedTunnel, passedV5 := "POST SPDY/3.1 ", "GET websocket "+tunneling, "GET websocket "+v5
	for _, c := range []struct {
		path, protocol string
		on             bool
		seen           string // the runtime's request; "" if it gets none
		code           int
		body           string
	}{
		{exec, v5, true, spdy, 101, v5},
		{exec, v5, false, passedV5, 404, "go!"},
		{"/attach/shop/web/web?output=1", v5, true, spdy, 101, v5},
		{"/attach/shop/web/web?output=1", v5, false, passedV5, 404, "go!"},
		{forward, tunneling, true, spdy, 404, "go!"},
		{forward, tunneling, false, "", 400, `query parameter "port" is required`},
		{forward + "?port=80", tunneling, false, passedTunnel, 404, "go!"},
	} {
		seen := make(chan string, 1)
		runtime := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen <- r.Method + " " + r.Header.Get("Upgrade") + " " + r.Header.Get("Sec-Websocket-Protocol")
			http.Error(w, "go!", http.StatusNotFound)
		}))
		w := start(t, func(g *Config) { g.WebSockets = c.on })
		w.runtime.location = runtime.URL
		got := w.dial(t, c.path, c.protocol)
		if got.code != c.code || !strings.Contains(got.body, c.body) {
			t.Errorf("%+v: %d %q", c, got.code, got.body)
		}
		runtime.Close()
		close(seen)
		if request := <-seen; request != c.seen {
			t.Errorf("%+v: the runtime got %q", c, request)
		}
	}
}
