package shutdown

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// login is a fake logind, and the bus to it.
type login struct {
	mu       sync.Mutex
	delay    time.Duration
	reload   time.Duration // how long logind needs for a new configuration; negative if it never takes it
	down     bool
	dead     bool // no connection can be made
	refuses  bool // it gives no lock
	held     int  // locks
	connects int
	conns    []*conn
}

type conn struct {
	l         *login
	announced chan bool
	once      sync.Once
}

type lock struct{ l *login }

func (k lock) Close() error {
	k.l.mu.Lock()
	defer k.l.mu.Unlock()
	k.l.held--
	return nil
}

func (l *login) connect(context.Context) (Logind, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.connects++
	if l.dead {
		return nil, errors.New("no bus")
	}
	c := &conn{l: l, announced: make(chan bool, 8)}
	l.conns = append(l.conns, c)
	return c, nil
}

// announce sends what logind says to all connections.
func (l *login) announce(down bool) {
	l.mu.Lock()
	l.down = down
	conns := slices.Clone(l.conns)
	l.mu.Unlock()
	for _, c := range conns {
		c.announced <- down
	}
	synctest.Wait()
}

// cut ends all connections, and no other can be made while dead.
func (l *login) cut(dead bool) {
	l.mu.Lock()
	l.dead = dead
	conns := slices.Clone(l.conns)
	l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
	synctest.Wait()
}

// comesBack lets connections be made again, with what was announced meanwhile.
func (l *login) comesBack(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead, l.down = false, down
}

func (l *login) locks() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

func (c *conn) Delay(context.Context) (time.Duration, error) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	return c.l.delay, nil
}

func (c *conn) SetDelay(_ context.Context, d time.Duration) error {
	if c.l.reload >= 0 {
		time.AfterFunc(c.l.reload, func() {
			c.l.mu.Lock()
			defer c.l.mu.Unlock()
			c.l.delay = d
		})
	}
	return nil
}

func (c *conn) Preparing(context.Context) (bool, error) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	return c.l.down, nil
}

func (c *conn) Inhibit(context.Context) (io.Closer, error) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if c.l.refuses {
		return nil, errors.New("permission denied")
	}
	c.l.held++
	return lock{c.l}, nil
}

func (c *conn) Announced() <-chan bool { return c.announced }

func (c *conn) Close() error {
	c.once.Do(func() {
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		c.l.conns = slices.DeleteFunc(c.l.conns, func(o *conn) bool { return o == c })
		close(c.announced)
	})
	return nil
}

// node is a fake node. A pod takes as long as its name's number says, in seconds.
type node struct {
	mu      sync.Mutex
	began   time.Time
	pods    []*v1.Pod
	takes   map[types.UID]time.Duration
	ended   map[types.UID]time.Time
	unknown bool // statuses are not written
	known   chan struct{}
	log     []string
	changes int
}

func (n *node) note(format string, args ...any) {
	n.log = append(n.log, fmt.Sprintf("%v ", time.Since(n.began).Round(time.Second))+fmt.Sprintf(format, args...))
}

func (n *node) Known() <-chan struct{} { return n.known }

func (n *node) Active() []*v1.Pod {
	select {
	case <-n.known:
		return n.pods
	default:
		return nil
	}
}

func (n *node) ShutDown(_ context.Context, pod *v1.Pod, grace int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.note("%s %d", pod.Name, grace)
	n.ended[pod.UID] = time.Now().Add(n.takes[pod.UID])
}

func (n *node) Ended(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, ok := n.ended[uid]
	return ok && !time.Now().Before(at)
}

func (n *node) Written(types.UID) bool { return !n.unknown }

func (n *node) Node(_ context.Context, kind, reason, message string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.note("%s %s: %s", kind, reason, message)
}

func (n *node) said() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.log
	n.log = nil
	return out
}

type bench struct {
	*login
	*node
	m     *Manager
	rec   *tracetest.Recorder
	young bool // the pods are not known yet
	stop  func()
}

// start runs a manager with three groups: 20 s for pods from priority 0, 10 s from 1000, 5 s for critical ones.
func start(t *testing.T, change func(*bench)) *bench {
	t.Helper()
	b := &bench{login: &login{delay: time.Hour}, rec: tracetest.New(t)}
	b.node = &node{known: make(chan struct{}), began: time.Now(), takes: map[types.UID]time.Duration{}, ended: map[types.UID]time.Time{}}
	if change != nil {
		change(b)
	}
	if !b.young {
		close(b.known)
	}
	var err error
	b.m, err = New(Config{
		Periods: []Period{{0, 20}, {1000, 10}, {2e9, 5}}, Connect: b.connect, Pods: b.node, Events: b.node, Bus: b.rec.Bus(),
		StateFile: filepath.Join(t.TempDir(), StateFile), Changed: func() { b.changes++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.m.Run(ctx) }()
	b.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if n := b.locks(); n != 0 {
			t.Errorf("%d locks are held at the end", n)
		}
	}
	synctest.Wait()
	return b
}

// states returns the steps that were published, with the pods that overran.
func (b *bench) states() (out []string) {
	for _, r := range b.rec.OfKind("shutdown") {
		e, _ := r.Event.(*trace.Shutdown)
		s := string(e.State)
		if e.State == trace.ShutdownGroup {
			s += fmt.Sprintf(" %d/%d %s", e.Group, e.Groups, map[trace.Edge]string{trace.EdgeBegin: "begin", trace.EdgeEnd: "end"}[r.Edge])
		}
		out = append(out, strings.TrimSpace(s+" "+strings.Join(e.Overran, " ")))
	}
	return out
}

func expect(t *testing.T, what string, want, got []string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func pods(b *bench) {
	b.node.pods = []*v1.Pod{podOf("low", 0, 30), podOf("quick", 5, 3), podOf("high", 1000, -1), podOf("critical", 2e9, 30)}
	b.takes["low"], b.takes["quick"], b.takes["high"], b.takes["critical"] = 7*time.Second, 2*time.Second, 4*time.Second, time.Second
}

const (
	detected = "Normal Shutdown: Shutdown manager detected shutdown event"
	canceled = "Normal Shutdown: Shutdown manager detected shutdown cancellation"
)

// The groups terminate one after the other; a group that has terminated early leaves its time. Then the lock is released.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, pods)
		if b.locks() != 1 || b.m.Underway() || b.m.NotReady() != nil {
			t.Fatalf("%d locks, under way: %t, %v", b.locks(), b.m.Underway(), b.m.NotReady())
		}
		b.announce(true)
		if err := b.m.NotReady(); !b.m.Underway() || err == nil || err.Error() != "node is shutting down" || b.changes != 1 {
			t.Errorf("under way: %t, %v, %d changes", b.m.Underway(), err, b.changes)
		}
		pass(11900 * time.Millisecond)
		if b.locks() != 1 {
			t.Error("the lock was released too early")
		}
		pass(time.Second)
		expect(t, "log", []string{"0s " + detected, "0s low 20", "0s quick 3", "7s high 10", "11s critical 5"}, b.said())
		expect(t, "steps", []string{"held", "announced", "group 1/3 begin", "group 1/3 end", "group 2/3 begin", "group 2/3 end", "group 3/3 begin", "group 3/3 end", "released"}, b.states())
		if b.locks() != 0 || !b.m.Underway() {
			t.Errorf("%d locks, under way: %t", b.locks(), b.m.Underway())
		}
		last := tracetest.Events[trace.Shutdown](b.rec)
		if e := last[len(last)-1]; e.Ended.Sub(e.Started).Round(time.Second) != 12*time.Second {
			t.Errorf("%+v", e)
		}
		b.stop()
	})
}

// A pod that does not terminate takes its group's time, and no more.
func TestOverrun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, func(b *bench) {
			pods(b)
			b.takes["low"], b.takes["critical"] = time.Hour, time.Hour
		})
		b.announce(true)
		pass(29500 * time.Millisecond)
		expect(t, "log", []string{"0s " + detected, "0s low 20", "0s quick 3", "20s high 10", "24s critical 5"}, b.said())
		steps := b.states()
		expect(t, "steps", []string{"group 1/3 end ns/low", "group 2/3 begin", "group 2/3 end", "group 3/3 begin", "group 3/3 end ns/critical", "released ns/low ns/critical"}, steps[3:])
		if b.locks() != 0 {
			t.Error("the lock is held")
		}
		b.stop()
	})
}

// The lock is held a little for statuses that the API does not have yet.
func TestStatusesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, func(b *bench) {
			pods(b)
			b.node.pods, b.unknown = b.node.pods[1:2], true
		})
		b.announce(true)
		pass(4500 * time.Millisecond)
		if b.locks() != 1 {
			t.Error("the lock was released before the statuses were written")
		}
		pass(time.Second)
		if b.locks() != 0 {
			t.Error("the lock is held for too long")
		}
		b.stop()
	})
}

// A shutdown that is canceled spares the groups that have not begun, and the lock is taken again.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, pods)
		b.announce(true)
		pass(time.Second)
		b.announce(false)
		if b.m.Underway() || b.locks() != 1 || b.changes != 2 {
			t.Errorf("under way: %t, %d locks, %d changes", b.m.Underway(), b.locks(), b.changes)
		}
		pass(time.Minute)
		expect(t, "log", []string{"0s " + detected, "0s low 20", "0s quick 3", "1s " + canceled}, b.said())
		expect(t, "steps", []string{"held", "announced", "group 1/3 begin", "group 1/3 end", "canceled", "held"}, b.states())
		b.announce(true) // once more, with the same pods: they have terminated
		pass(13 * time.Second)
		if b.locks() != 0 || !b.m.Underway() {
			t.Errorf("%d locks, under way: %t", b.locks(), b.m.Underway())
		}
		b.announce(false) // after the lock was released
		if b.m.Underway() || b.locks() != 1 {
			t.Errorf("under way: %t, %d locks", b.m.Underway(), b.locks())
		}
		b.announce(false) // without a shutdown
		if b.locks() != 1 {
			t.Errorf("%d locks", b.locks())
		}
		b.stop()
	})
}

// When the bus restarts, the lock stays, and another one follows it. What was announced meanwhile is noticed.
func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, pods)
		b.cut(true)
		pass(5 * time.Second)
		if b.locks() != 1 || b.connects < 3 {
			t.Errorf("%d locks, %d connections", b.locks(), b.connects)
		}
		var warnings []string
		for _, l := range tracetest.Events[trace.Log](b.rec) {
			warnings = append(warnings, l.Message)
		}
		expect(t, "warnings", []string{"the connection to logind ended, and is made again", "logind cannot be used: a shutdown of the machine does not wait for pods"}, warnings)
		b.comesBack(true)
		pass(time.Minute)
		if !b.m.Underway() || b.locks() != 0 || len(b.ended) != 4 {
			t.Errorf("under way: %t, %d locks, %d pods ended", b.m.Underway(), b.locks(), len(b.ended))
		}
		b.cut(true)
		b.comesBack(false)
		pass(time.Minute)
		if b.m.Underway() || b.locks() != 1 {
			t.Errorf("after a cancellation that was missed, under way: %t, %d locks", b.m.Underway(), b.locks())
		}
		b.stop()
	})
}

// Pods terminate also if the connection is lost meanwhile.
func TestCutMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, pods)
		b.announce(true)
		b.cut(false)
		pass(13 * time.Second)
		steps := b.states()
		if b.locks() != 0 || len(b.ended) != 4 || steps[len(steps)-1] != "released" {
			t.Errorf("%d locks, %d pods ended, %q", b.locks(), len(b.ended), steps)
		}
		pass(time.Minute)
		if n := len(b.states()); n != len(steps) {
			t.Errorf("the pods are ended twice: %q", b.states())
		}
		b.stop()
	})
}

// The node begins to shut down when the agent has just started: it waits for its pods, not too long, and for a cancellation.
func TestYoungAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		young := func(b *bench) {
			pods(b)
			b.young = true
		}
		for _, begun := range []bool{false, true} { // before the agent starts
			b := start(t, func(b *bench) {
				young(b)
				b.down = begun
			})
			if !begun {
				b.announce(true)
			}
			pass(4 * time.Second)
			if !b.m.Underway() || len(b.ended) > 0 {
				t.Errorf("under way: %t, %d pods ended", b.m.Underway(), len(b.ended))
			}
			close(b.known)
			pass(13 * time.Second)
			if b.locks() != 0 || len(b.ended) != 4 {
				t.Errorf("%d locks, %d pods ended, want all", b.locks(), len(b.ended))
			}
			b.stop()
		}
		b := start(t, young)
		b.announce(true)
		pass(knownLimit)
		if b.locks() != 0 {
			t.Errorf("%d locks after %s without pods", b.locks(), knownLimit)
		}
		b.stop()
		b = start(t, young)
		pass(youth)
		b.announce(true) // there may be no API server
		if b.locks() != 0 {
			t.Errorf("%d locks, an agent that has run for %s waits", b.locks(), youth)
		}
		b.stop()
		b = start(t, young)
		b.announce(true)
		b.announce(false)
		close(b.known)
		pass(time.Minute)
		if b.m.Underway() || b.locks() != 1 || len(b.ended) > 0 {
			t.Errorf("under way: %t, %d locks, %d pods ended", b.m.Underway(), b.locks(), len(b.ended))
		}
		b.stop()
	})
}

// The agent stops while pods terminate.
func TestStopMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, pods)
		b.announce(true)
		pass(time.Second)
		b.stop()
		if steps := b.states(); slices.Contains(steps, "released") || slices.Contains(steps, "group 2/3 begin") {
			t.Errorf("%q", steps)
		}
	})
}

func TestExtend(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*login)
		locks  int
		delay  time.Duration
		warns  string
	}{
		{"long enough", func(l *login) { l.delay = 35 * time.Second }, 1, 35 * time.Second, ""},
		{"too short", func(l *login) { l.delay, l.reload = 5*time.Second, 500*time.Millisecond }, 1, 35 * time.Second, ""},
		{"not taken", func(l *login) { l.delay, l.reload = 5*time.Second, -1 }, 1, 5 * time.Second, "a shutdown of the machine waits 5s for pods, and not 35s, as the configuration requires"},
		{"no lock", func(l *login) { l.refuses = true }, 0, 0, "logind cannot be used: a shutdown of the machine does not wait for pods"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, func(b *bench) { c.change(b.login) })
				pass(4 * time.Second)
				if n := b.locks(); n != c.locks {
					t.Errorf("%d locks, want %d", n, c.locks)
				}
				said := tracetest.Events[trace.Shutdown](b.rec)
				if c.locks > 0 && (len(said) != 1 || said[0].State != trace.ShutdownHeld || said[0].Delay != c.delay || said[0].Grace != 35) {
					t.Errorf("%+v", said)
				}
				var warns []string
				for _, l := range tracetest.Events[trace.Log](b.rec) {
					warns = append(warns, l.Message)
				}
				if strings.Join(warns, "; ") != c.warns {
					t.Errorf("warnings %q, want %q", warns, c.warns)
				}
				b.stop()
			})
		})
	}
}

func TestNewChecks(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("no error")
	}
}
