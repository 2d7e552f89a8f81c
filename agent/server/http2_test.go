package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/kubeloupe/kubeloupe/agent/auth"
)

// slowAuth blocks callers until it is released or they are gone.
type slowAuth struct {
	fakeAuth
	now, most, all atomic.Int64
	release        chan struct{}
}

func (a *slowAuth) Authenticate(r *http.Request) (*auth.User, error) {
	a.all.Add(1)
	n := a.now.Add(1)
	defer a.now.Add(-1)
	for most := a.most.Load(); n > most && !a.most.CompareAndSwap(most, n); most = a.most.Load() {
	}
	<-a.release // as a handler that does not notice that its stream was reset
	return a.fakeAuth.Authenticate(r)
}

// stranger is an HTTP/2 client that ignores the rules.
type stranger struct {
	net.Conn
	*http2.Framer
	t       *testing.T
	next    uint32
	encoder *hpack.Encoder
	block   bytes.Buffer
}

func newStranger(t *testing.T, address string, settings ...http2.Setting) *stranger {
	t.Helper()
	raw, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	t.Cleanup(func() { _ = raw.Close() })
	if _, err := c.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	s := &stranger{Conn: c, Framer: http2.NewFramer(c, c), t: t, next: 1}
	s.encoder = hpack.NewEncoder(&s.block)
	if err := s.WriteSettings(settings...); err != nil {
		t.Fatal(err)
	}
	return s
}

// get opens a stream, with more headers of the same name and value. It returns false if the connection is closed.
func (s *stranger) get(path string, more int, name, value string) (stream uint32, ok bool) {
	s.block.Reset()
	write := func(name, value string) {
		_ = s.encoder.WriteField(hpack.HeaderField{Name: name, Value: value}) // into memory
	}
	write(":method", "GET")
	write(":scheme", "https")
	write(":authority", "x")
	write(":path", path)
	for range more {
		write(name, value)
	}
	stream = s.next
	s.next += 2
	err := s.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: s.block.Bytes(), EndStream: true, EndHeaders: true})
	return stream, err == nil
}

// ended waits until the server closes the connection, and returns false if it does not.
func (s *stranger) ended() bool { return ends(s.Conn) }

// drain reads what the server sends, so that the server does not block.
func (s *stranger) drain() (gone <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := s.ReadFrame(); err != nil {
				return
			}
		}
	}()
	return done
}

// A client that opens streams and resets them at once (CVE-2023-44487) does not accumulate handlers.
func TestRapidReset(t *testing.T) {
	a := &slowAuth{release: make(chan struct{})}
	w := start(t, func(c *Config) { c.Auth = a })
	defer close(a.release)
	s := newStranger(t, strings.TrimPrefix(w.url, "https://"))
	gone := s.drain()
	for range 20000 {
		stream, ok := s.get("/healthz", 0, "", "")
		if !ok || s.WriteRSTStream(stream, http2.ErrCodeCancel) != nil {
			break
		}
	}
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Error("the connection goes on")
	}
	if n := a.most.Load(); n > unknownRequestsEach {
		t.Errorf("%d handlers at once", n)
	}
}

// One source with many connections and many requests gets some of them handled; other sources are served meanwhile.
func TestRequestsOfStrangers(t *testing.T) {
	a := &slowAuth{release: make(chan struct{})}
	w := start(t, func(c *Config) { c.Auth = a })
	for range 20 {
		s := newStranger(t, strings.TrimPrefix(w.url, "https://"))
		s.drain()
		for range maxConcurrentStreams {
			s.get("/healthz", 0, "", "")
		}
	}
	deadline := time.Now().Add(time.Minute)
	for a.now.Load() < unknownRequestsEach && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if n := a.most.Load(); n != unknownRequestsEach {
		t.Errorf("%d handlers at once, want %d", n, unknownRequestsEach)
	}
	close(a.release)
}

// Headers that are small on the wire and large in memory are not kept for unknown clients: cookies are joined into one.
func TestCookieBomb(t *testing.T) {
	a := &slowAuth{release: make(chan struct{})}
	w := start(t, func(c *Config) { c.Auth = a })
	defer close(a.release)
	before := live()
	var all sync.WaitGroup
	for range 20 {
		s := newStranger(t, strings.TrimPrefix(w.url, "https://"), http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		s.drain()
		all.Go(func() {
			for range 40 {
				if _, ok := s.get("/healthz", 250, "cookie", strings.Repeat("x", 3900)); !ok {
					return
				}
			}
		})
	}
	all.Wait()
	if grown := live() - before; grown > 32<<20 {
		t.Errorf("%d MB are held", grown>>20)
	}
	if n := a.most.Load(); n != 0 {
		t.Errorf("%d handlers at once", n)
	}
}

// A frame announces its length before its content arrives, and a header block may never end. Neither gets much memory.
func TestUnfinishedFrames(t *testing.T) {
	w := start(t, nil)
	before := live()
	for range 200 {
		s := newStranger(t, strings.TrimPrefix(w.url, "https://"))
		_, _ = s.Conn.Write([]byte{0x0f, 0xff, 0xff, byte(http2.FrameHeaders), 0, 0, 0, 0, 1}) // it announces 1 MiB
	}
	if code, _ := w.ask(t, "GET", "/healthz", "root", ""); code != 200 {
		t.Error(code)
	}
	if grown := live() - before; grown > 48<<20 {
		t.Errorf("%d MB are held", grown>>20)
	}
	s := newStranger(t, strings.TrimPrefix(w.url, "https://"))
	_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
	for range 10000 {
		if s.WriteContinuation(1, false, []byte("\x00\x01a\x7f\x81\x01"+strings.Repeat("x", 256))) != nil {
			break
		}
	}
	if !s.ended() {
		t.Error("a header block without end goes on")
	}
}

// HTTP/2 has no upgrades: a client that requests one gets an error, and nothing remains.
func TestUpgradeOverHTTP2(t *testing.T) {
	w := start(t, nil)
	tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer tr.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/exec/shop/web/web?output=1&command=cat", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer root")
	res, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.ProtoMajor != 2 || res.StatusCode != http.StatusInternalServerError {
		t.Errorf("%s %s", res.Proto, res.Status)
	}
}
