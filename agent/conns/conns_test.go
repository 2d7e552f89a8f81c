package conns

import (
	"io"
	"net"
	"strings"
	"testing"
)

// fakeListener accepts pipes with the given addresses.
type fakeListener struct {
	net.Listener
	addresses []string
	others    []net.Conn
}

type addressed struct {
	net.Conn
	from string
}

func (a addressed) RemoteAddr() net.Addr { return fakeAddr(a.from) }

type fakeAddr string

func (fakeAddr) Network() string  { return "tcp" }
func (a fakeAddr) String() string { return string(a) }

func (l *fakeListener) Accept() (net.Conn, error) {
	if len(l.addresses) == 0 {
		return nil, io.EOF
	}
	here, there := net.Pipe()
	from := l.addresses[0]
	l.addresses = l.addresses[1:]
	l.others = append(l.others, there)
	return addressed{here, from}, nil
}

// accept returns a connection from each address, and the peers' ends.
func accept(t *testing.T, limits Limits, addresses string) (*Listener, []*Conn, []net.Conn) {
	t.Helper()
	fake := &fakeListener{addresses: strings.Fields(addresses)}
	l := New(fake, limits)
	var out []*Conn
	for range strings.FieldsSeq(addresses) {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c.(*Conn)) //nolint:forcetypeassert // it must be one
	}
	return l, out, fake.others
}

func open(list []*Conn) string {
	var out strings.Builder
	for _, c := range list {
		c.l.mu.Lock()
		out.WriteString(map[bool]string{true: "-", false: "o"}[c.closed])
		c.l.mu.Unlock()
	}
	return out.String()
}

func TestUnknownConnections(t *testing.T) {
	for _, c := range []struct{ name, from, want string }{
		{"one source loses its oldest", "1.1.1.1:1 1.1.1.1:2 1.1.1.1:3 1.1.1.1:4 1.1.1.1:5", "--ooo"},
		{"others lose nothing to it", "2.2.2.2:1 1.1.1.1:1 1.1.1.1:2 1.1.1.1:3 1.1.1.1:4 3.3.3.3:1", "o---oo"},
		{"addresses of one network are one source", "2.2.2.2:1 [2001:db8::1]:1 [2001:db8::2]:1 [2001:db8::3]:1", "o-oo"},
		{"no more than may be", "1.1.1.1:1 2.2.2.2:1 3.3.3.3:1", "ooo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, list, _ := accept(t, Limits{Unknown: 3}, c.from)
			if got := open(list); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if n, _ := l.Count(); n != strings.Count(c.want, "o") {
				t.Errorf("%d are counted", n)
			}
		})
	}
}

func TestKnownConnections(t *testing.T) {
	l, list, _ := accept(t, Limits{Unknown: 2, Known: 2}, "1.1.1.1:1 1.1.1.1:2")
	for _, c := range list {
		if !c.Vouch() || !c.Known() {
			t.Fatal("there is place")
		}
	}
	_, more, _ := accept(t, Limits{}, "1.1.1.1:3")
	third := more[0]
	third.l = l
	if third.Vouch() {
		t.Error("a third one, while two are in use")
	}
	list[0].Idle(true)
	if !third.Vouch() || open(list) != "-o" {
		t.Errorf("the idle one does not give way: %s", open(list))
	}
	if _, known := l.Count(); known != 2 {
		t.Errorf("%d known", known)
	}
	if list[0].Vouch() != true || list[0].closed != true {
		t.Error("a closed one changed")
	}
}

// An unknown connection can send little, a few can send more, and none more than that. Known ones have no limit.
func TestBytes(t *testing.T) {
	limits := Limits{Small: 10, Large: 1, LargeBytes: 20, CertifiedBytes: 40}
	l, list, others := accept(t, limits, "1.1.1.1:1 1.1.1.1:2 1.1.1.1:3")
	send := func(i, n int) error {
		t.Helper()
		go func() { _, _ = others[i].Write(make([]byte, n)) }()
		_, err := io.ReadFull(list[i], make([]byte, n))
		return err
	}
	if err := send(0, 11); err != nil || len(l.large) != 1 {
		t.Fatal(err, len(l.large))
	}
	if err := send(1, 11); err != nil || open(list) != "-oo" {
		t.Errorf("the newest large one stays, %s: %v", open(list), err)
	}
	list[1].Idle(true) // the next request
	if len(l.large) != 0 {
		t.Error("an idle one is large")
	}
	list[1].Idle(false)
	if err := send(1, 20); err != nil {
		t.Error(err)
	}
	if err := send(1, 1); err == nil || open(list) != "--o" {
		t.Errorf("more than may be, %s: %v", open(list), err)
	}
	list[2].Certify()
	if err := send(2, 40); err != nil {
		t.Error(err)
	}
	list[2].Vouch()
	if err := send(2, 1000); err != nil {
		t.Error(err)
	}
}

// A connection that is closed or becomes known just before it counts as large takes no slot of the large ones.
func TestLargeTooLate(t *testing.T) {
	l, list, _ := accept(t, Limits{Known: 1, Small: 10, Large: 1}, "1.1.1.1:1 1.1.1.1:2 1.1.1.1:3")
	if err := list[0].Close(); err != nil {
		t.Fatal(err)
	}
	list[1].Vouch()
	for _, c := range list {
		l.grow(c)
		l.grow(c)
	}
	if open(list) != "-oo" || len(l.large) != 1 {
		t.Errorf("%s, %d large", open(list), len(l.large))
	}
}

func TestSource(t *testing.T) {
	for from, want := range map[string]string{
		"10.0.0.1:99": "10.0.0.1", "[::ffff:10.0.0.1]:99": "10.0.0.1", "[2001:db8:1:2:3::4]:99": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:99": "fe80::/64", "[::1]:99": "::1", "pipe": "pipe",
	} {
		if got := Source(from); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}

func TestShare(t *testing.T) {
	s := NewShare(3, 2)
	one, two := s.Take("a"), s.Take("a")
	if one == nil || two == nil || s.Take("a") != nil {
		t.Fatal("a has two places, not three")
	}
	b := s.Take("b")
	if b == nil || s.Take("c") != nil {
		t.Fatal("there are three places")
	}
	one()
	one()
	if s.Take("c") == nil || s.Take("c") != nil {
		t.Error("one place was given back")
	}
}
