package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	constants "k8s.io/apimachinery/pkg/util/portforward"
	client "k8s.io/client-go/tools/portforward"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

const (
	// handshakeDeadline is how long the runtime's streaming server may take to answer a request for an upgrade.
	handshakeDeadline = 30 * time.Second
	// handshakeLimit limits the header of that answer, and the body of a refusal, in bytes.
	handshakeLimit = 1 << 20
)

// tunnel connects a client that sends SPDY inside a WebSocket to the runtime's streaming server at where, which expects SPDY.
//
// Upstream: k8s.io/apiserver/pkg/util/proxy/streamtunnel.go; KEP-4006. The package itself would link the types of every API group.
func tunnel(w http.ResponseWriter, r *http.Request, where *url.URL) {
	conn, err := dialStreaming(r.Context(), where)
	if err != nil {
		failStream(w, r, err)
		return
	}
	defer conn.Close() //nolint:errcheck // nothing is left to send
	limited := bufio.NewReader(io.LimitReader(conn, handshakeLimit))
	answer, err := handshake(conn, limited, r, where)
	if err != nil {
		failStream(w, r, err)
		return
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		passRefusal(w, r, answer)
		return
	}
	if !upgraded(answer) {
		http.Error(w, "unable to upgrade: missing upgrade headers in response", http.StatusInternalServerError)
		return
	}
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }} // it is authenticated by its credentials
	if p := strings.TrimSpace(answer.Header.Get(httpstream.HeaderProtocolVersion)); p != "" {
		upgrader.Subprotocols = []string{constants.WebsocketsSPDYTunnelingPrefix + p}
	}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has responded
	}
	first, _ := limited.Peek(limited.Buffered()) // it has them
	join(r.Context(), client.NewTunnelingConnectionWithLogger(klog.FromContext(r.Context()), ws), conn, io.MultiReader(bytes.NewReader(first), conn))
}

// handshake sends r as a request for an upgrade to SPDY, and returns the answer.
func handshake(conn net.Conn, from *bufio.Reader, r *http.Request, where *url.URL) (*http.Response, error) {
	if err := conn.SetDeadline(time.Now().Add(handshakeDeadline)); err != nil {
		return nil, err
	}
	ask := utilnet.CloneRequest(r)
	utilnet.AppendForwardedForHeader(ask)
	for _, h := range []string{"Sec-Websocket-Protocol", "Sec-Websocket-Key", "Sec-Websocket-Version"} {
		ask.Header.Del(h)
	}
	ask.Method, ask.URL, ask.Body, ask.ContentLength = http.MethodPost, where, nil, 0
	ask.Header.Set(httpstream.HeaderUpgrade, spdy.HeaderSpdy31)
	ask.Header[httpstream.HeaderProtocolVersion] = tunneled(r)
	if err := ask.Write(conn); err != nil {
		return nil, fmt.Errorf("error sending request: %w", err)
	}
	answer, err := http.ReadResponse(from, ask)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusSwitchingProtocols {
		err = conn.SetDeadline(time.Time{}) // what follows may be idle
	}
	return answer, err
}

// tunneled returns the SPDY protocols that a client offers to use inside its WebSocket.
func tunneled(r *http.Request) []string {
	var protocols []string
	for _, p := range websocket.Subprotocols(r) {
		if inner, ok := strings.CutPrefix(p, constants.WebsocketsSPDYTunnelingPrefix); ok && strings.HasSuffix(inner, constants.KubernetesSuffix) {
			protocols = append(protocols, inner)
		}
	}
	return protocols
}

// upgraded reports whether an answer with status 101 switches to SPDY.
func upgraded(answer *http.Response) bool {
	contains := func(header, value string) bool {
		return strings.Contains(strings.ToLower(answer.Header.Get(header)), strings.ToLower(value))
	}
	return contains(httpstream.HeaderConnection, httpstream.HeaderUpgrade) && contains(httpstream.HeaderUpgrade, spdy.HeaderSpdy31)
}

// passRefusal responds with the answer of a runtime that does not upgrade.
func passRefusal(w http.ResponseWriter, r *http.Request, answer *http.Response) {
	defer answer.Body.Close() //nolint:errcheck // it was read
	if answer.StatusCode < http.StatusBadRequest {
		failStream(w, r, invalidUpgrade(answer))
		return
	}
	if t := answer.Header.Get("Content-Type"); t != "" {
		w.Header().Set("Content-Type", t)
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, io.LimitReader(answer.Body, handshakeLimit)) // the client is gone, or the runtime: the response ends
}

// join copies in both directions until one of them or ctx ends. It closes both connections.
func join(ctx context.Context, ws, runtime net.Conn, fromRuntime io.Reader) {
	var both sync.WaitGroup
	end := func() {
		ws.Close()      //nolint:errcheck // the other direction then ends too
		runtime.Close() //nolint:errcheck // as above
	}
	defer context.AfterFunc(ctx, end)()
	both.Go(func() {
		defer end()
		_, _ = io.Copy(runtime, ws)
	})
	both.Go(func() {
		defer end()
		_, _ = io.Copy(ws, fromRuntime)
	})
	both.Wait()
}
