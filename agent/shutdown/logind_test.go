package shutdown

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// busConfig is a bus of its own: everybody may do everything, and find everything.
const busConfig = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path=%s</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/><allow user="*"/>
  </policy>
</busconfig>
`

// bus is a real bus daemon in a directory of the test.
type bus struct {
	t       *testing.T
	dir     string
	address string
	daemon  *exec.Cmd
}

func newBus(t *testing.T) *bus {
	t.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		t.Skip("dbus-daemon is not installed")
	}
	dir, err := os.MkdirTemp("", "kubeloupe-bus") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	b := &bus{t: t, dir: dir, address: "unix:path=" + filepath.Join(dir, "bus")}
	t.Cleanup(func() {
		b.stop()
		_ = os.RemoveAll(dir)
	})
	if err := os.WriteFile(filepath.Join(dir, "bus.conf"), fmt.Appendf(nil, busConfig, filepath.Join(dir, "bus")), 0o600); err != nil {
		t.Fatal(err)
	}
	b.start()
	return b
}

// start starts the daemon, and returns when it listens.
func (b *bus) start() {
	b.t.Helper()
	b.daemon = exec.Command("dbus-daemon", "--nofork", "--nopidfile", "--nosyslog", "--print-address", "--config-file="+filepath.Join(b.dir, "bus.conf"))
	out, err := b.daemon.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	b.daemon.Stderr = b.t.Output()
	if err := b.daemon.Start(); err != nil {
		b.t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		b.t.Fatalf("%q, %v", line, err)
	}
}

func (b *bus) stop() {
	if b.daemon != nil {
		_ = b.daemon.Process.Kill()
		_ = b.daemon.Wait()
		b.daemon = nil
	}
}

// fakeLogind is logind and systemd on that bus.
type fakeLogind struct {
	t      *testing.T
	conn   *dbus.Conn
	dropIn string

	mu    sync.Mutex
	delay uint64
	down  bool
	asked []string
	locks []pipe
}

// pipe is a lock: r ends when all have closed w.
type pipe struct{ r, w *os.File }

func newLogind(b *bus, dropIn string) *fakeLogind {
	b.t.Helper()
	l := &fakeLogind{t: b.t, dropIn: dropIn, delay: 5_000_000}
	l.connect(b)
	return l
}

func (l *fakeLogind) connect(b *bus) {
	conn, err := dbus.Connect(b.address)
	if err != nil {
		l.t.Fatal(err)
	}
	l.conn = conn
	l.t.Cleanup(func() { _ = conn.Close() })
	for _, e := range []struct {
		methods     map[string]any
		path, iface string
	}{
		{map[string]any{"Inhibit": l.inhibit}, string(logindPath), logindInterface},
		{map[string]any{"Get": l.get}, string(logindPath), "org.freedesktop.DBus.Properties"},
		{map[string]any{"KillUnit": l.killUnit}, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"},
	} {
		if err := conn.ExportMethodTable(e.methods, dbus.ObjectPath(e.path), e.iface); err != nil {
			l.t.Fatal(err)
		}
	}
	for _, name := range []string{logindName, "org.freedesktop.systemd1"} {
		if got, err := conn.RequestName(name, dbus.NameFlagDoNotQueue); err != nil || got != dbus.RequestNameReplyPrimaryOwner {
			l.t.Fatal(name, got, err)
		}
	}
}

func (l *fakeLogind) inhibit(what, who, why, mode string) (dbus.UnixFD, *dbus.Error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, dbus.MakeFailedError(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, strings.Join([]string{what, who, mode}, " ")+": "+why)
	l.locks = append(l.locks, pipe{r, w})
	return dbus.UnixFD(w.Fd()), nil
}

func (l *fakeLogind) get(_, name string) (dbus.Variant, *dbus.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch name {
	case "InhibitDelayMaxUSec":
		return dbus.MakeVariant(l.delay), nil
	case "PreparingForShutdown":
		return dbus.MakeVariant(l.down), nil
	}
	return dbus.Variant{}, dbus.MakeFailedError(fmt.Errorf("no property %s", name))
}

// killUnit reads the configuration, as logind does at SIGHUP.
func (l *fakeLogind) killUnit(unit, who string, signal int32) *dbus.Error {
	text, err := os.ReadFile(l.dropIn)
	if err != nil {
		return dbus.MakeFailedError(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, fmt.Sprintf("%s %s %d", unit, who, signal))
	var seconds uint64
	_, rest, _ := strings.Cut(string(text), "\n")
	if _, err := fmt.Sscanf(rest, "[Login]\nInhibitDelayMaxSec=%d\n", &seconds); err != nil {
		return dbus.MakeFailedError(fmt.Errorf("%q: %w", text, err))
	}
	l.delay = seconds * 1_000_000
	return nil
}

// announce emits PrepareForShutdown over a connection.
func (l *fakeLogind) announce(conn *dbus.Conn, down bool) {
	l.t.Helper()
	if err := conn.Emit(logindPath, logindInterface+"."+announcement, down); err != nil {
		l.t.Fatal(err)
	}
}

// released waits until nobody holds a lock any more, which was sent before.
func (l *fakeLogind) released(number int) {
	l.t.Helper()
	l.mu.Lock()
	r := l.locks[number].r
	_ = l.locks[number].w.Close()
	l.mu.Unlock()
	_ = r.SetReadDeadline(time.Now().Add(patience))
	if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil || os.IsTimeout(err) {
		l.t.Errorf("lock %d: %d, %v, want its end", number, n, err)
	}
}

const patience = 20 * time.Second

// obedient are pods that terminate at once.
type obedient struct {
	mu    sync.Mutex
	ended map[types.UID]int64
}

func (o *obedient) Known() <-chan struct{} {
	known := make(chan struct{})
	close(known)
	return known
}

func (o *obedient) Active() []*v1.Pod { return []*v1.Pod{podOf("web", 0, 30)} }

func (o *obedient) ShutDown(_ context.Context, p *v1.Pod, grace int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended[p.UID] = grace
}

func (o *obedient) Ended(uid types.UID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.ended[uid]
	return ok
}

func (o *obedient) Written(types.UID) bool { return true }

// TestBus is the whole way over a real bus: the drop-in, the lock, a signal of somebody else, the announcement, a bus that restarts.
func TestBus(t *testing.T) {
	b := newBus(t)
	dropIn := filepath.Join(b.dir, "logind.conf.d", "99-kubelet.conf")
	l := newLogind(b, dropIn)
	records := trace.NewBus(256)
	cursor := records.Subscribe(trace.FromOldest)
	defer cursor.Close()
	o := &obedient{ended: map[types.UID]int64{}}
	m, err := New(Config{Periods: []Period{{0, 25}, {2e9, 10}}, Connect: Bus{Address: b.address, DropIn: dropIn}.Connect, Pods: o, Bus: records})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	defer func() {
		cancel()
		<-done
	}()
	var steps []string
	next := func(state trace.ShutdownState) trace.Shutdown {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		for {
			recs, _, err := cursor.Next(ctx, make([]trace.Record, 0, 1))
			if err != nil {
				t.Fatalf("no step %s: %v", state, err)
			}
			for i := range recs {
				e, ok := recs[i].Event.(*trace.Shutdown)
				if !ok {
					continue
				}
				if steps = append(steps, string(e.State)); e.State == state {
					return *e
				}
			}
		}
	}

	if e := next(trace.ShutdownHeld); e.Delay != 35*time.Second {
		t.Errorf("%+v", e)
	}
	l.mu.Lock()
	want := "systemd-logind.service all 1; shutdown kubelet delay: Kubelet needs time to handle node shutdown"
	if got := strings.Join(l.asked, "; "); got != want {
		t.Errorf("asked for %q, want %q", got, want)
	}
	l.mu.Unlock()
	if m.Underway() {
		t.Error("it shuts down")
	}

	stranger, err := dbus.Connect(b.address)
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	l.announce(stranger, true)
	unicast := &dbus.Message{Type: dbus.TypeSignal, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldPath: dbus.MakeVariant(logindPath), dbus.FieldInterface: dbus.MakeVariant(logindInterface), dbus.FieldMember: dbus.MakeVariant(announcement),
		dbus.FieldDestination: dbus.MakeVariant(peer(t, stranger)), dbus.FieldSignature: dbus.MakeVariant(dbus.SignatureOf(true)),
	}, Body: []any{true}}
	stranger.Send(unicast, nil)
	peer(t, stranger)         // what it sent before was delivered then
	l.announce(l.conn, false) // it says nothing new, but comes after the others
	l.announce(l.conn, true)
	if e := next(trace.ShutdownAnnounced); len(e.Pods) != 1 {
		t.Errorf("%+v", e)
	}
	next(trace.ShutdownReleased)
	l.released(0)
	if !m.Underway() || o.ended["web"] != 25 {
		t.Errorf("under way: %t, %v", m.Underway(), o.ended)
	}
	l.announce(l.conn, false)
	next(trace.ShutdownCanceled)
	next(trace.ShutdownHeld)
	if m.Underway() {
		t.Error("it shuts down")
	}

	b.stop()
	b.start()
	l.connect(b)
	next(trace.ShutdownHeld)
	l.released(1) // the lock before: the new one has taken its place
	l.announce(l.conn, true)
	next(trace.ShutdownReleased)
	l.released(2)
	expect(t, "steps", []string{"held", "announced", "group", "group", "released", "canceled", "held", "held", "announced", "group", "group", "released"}, steps)
}

// peer returns the name of the connection that is neither logind's nor the stranger's: the manager's.
func peer(t *testing.T, stranger *dbus.Conn) string {
	t.Helper()
	var names []string
	if err := stranger.BusObject().Call("org.freedesktop.DBus.ListNames", 0).Store(&names); err != nil {
		t.Fatal(err)
	}
	var owner string
	if err := stranger.BusObject().Call("org.freedesktop.DBus.GetNameOwner", 0, logindName).Store(&owner); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.HasPrefix(n, ":") && n != owner && n != stranger.Names()[0] {
			return n
		}
	}
	t.Fatalf("%q", names)
	return ""
}

// Without a bus, or without logind on it, connecting is an error that says so.
func TestNoLogind(t *testing.T) {
	if _, err := (Bus{Address: "unix:path=/none/bus"}).Connect(t.Context()); err == nil {
		t.Error("no error without a bus")
	}
	b := newBus(t)
	l, err := Bus{Address: b.address}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Delay(t.Context()); err == nil || !strings.Contains(err.Error(), "InhibitDelayMaxUSec of logind") {
		t.Errorf("%v", err)
	}
	if _, err := l.Inhibit(t.Context()); err == nil {
		t.Error("a lock without logind")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, open := <-l.Announced(); open {
		t.Error("it announces something after its end")
	}
}
