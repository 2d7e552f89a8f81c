package tui

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMain makes times of day the same everywhere.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

// none is a source without records.
type none struct{}

func (none) Next(ctx context.Context, _ []trace.Record) ([]trace.Record, uint64, error) {
	<-ctx.Done()
	return nil, 0, ctx.Err()
}

// driver drives an app as Bubble Tea does, without a terminal, in a bubble of
// testing/synctest.
type driver struct {
	t   testing.TB
	app *app
	now time.Time

	waiting []chan tea.Msg
}

func drive(t testing.TB, cfg Config, w, h int) *driver {
	t.Helper()
	d := &driver{t: t, now: tuitest.Epoch.Add(tuitest.Length)}
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return d.now }
	}
	if cfg.Env == nil {
		cfg.Env = []string{"TERM=xterm-256color"}
	}
	if cfg.ExportDir == "" {
		cfg.ExportDir = t.TempDir()
	}
	t.Cleanup(func() { time.Sleep(time.Minute) }) // the last tick is over
	d.app = newApp(t.Context(), cfg, style.For(cfg.Env), newPump(none{}))
	d.send(tea.WindowSizeMsg{Width: w, Height: h})
	return d
}

// send gives the app a message and, after it, all that its commands return.
func (d *driver) send(msg tea.Msg) {
	d.t.Helper()
	switch msg := msg.(type) {
	case nil, tea.QuitMsg:
		return
	case tea.BatchMsg:
		for _, c := range msg {
			d.run(c)
		}
		return
	default:
		d.run(d.app.update(msg))
	}
}

// run runs a command until it returns or waits for something; what it returns
// later is taken in by settle.
func (d *driver) run(cmd tea.Cmd) {
	d.t.Helper()
	if cmd == nil {
		return
	}
	out := make(chan tea.Msg, 1)
	d.waiting = append(d.waiting, out)
	go func() { out <- cmd() }()
	d.settle()
}

// settle takes in what commands have returned.
func (d *driver) settle() {
	d.t.Helper()
	synctest.Wait()
	for i := 0; i < len(d.waiting); i++ {
		select {
		case msg := <-d.waiting[i]:
			d.waiting = slices.Delete(d.waiting, i, i+1)
			d.send(msg)
			i = -1
		default:
		}
	}
}

// play gives the app the scripted session.
func (d *driver) play() *driver {
	d.t.Helper()
	d.app.apply([]chunk{{recs: tuitest.Session()}})
	d.app.setNow()
	d.app.refresh()
	return d
}

// cluster gives the app the scripted session of a cluster's node.
func (d *driver) cluster() *driver {
	d.t.Helper()
	d.app.apply([]chunk{{recs: tuitest.Cluster()}})
	d.app.setNow()
	d.app.refresh()
	return d
}

// shortage gives the app the scripted session of a node that runs out of all.
func (d *driver) shortage() *driver {
	d.t.Helper()
	d.app.apply([]chunk{{recs: tuitest.Shortage()}})
	d.app.setNow()
	d.app.refresh()
	return d
}

// machine gives the app the scripted session of a machine with NUMA nodes and devices.
func (d *driver) machine() *driver {
	d.t.Helper()
	d.app.apply([]chunk{{recs: tuitest.Machine()}})
	d.app.setNow()
	d.app.refresh()
	return d
}

// attached gives the app what is known of the resources of another kubelet's node.
func (d *driver) attached() *driver {
	d.t.Helper()
	d.app.apply([]chunk{{recs: tuitest.Attached()}})
	d.app.setNow()
	d.app.refresh()
	return d
}

// claims gives the app the scripted session of a node with DRA drivers.
func (d *driver) claims() *driver {
	d.t.Helper()
	d.app.apply([]chunk{{recs: tuitest.Claims()}})
	d.app.setNow()
	d.app.refresh()
	return d
}

// keys types keys, named as Bubble Tea names them, separated by spaces.
func (d *driver) keys(names string) *driver {
	d.t.Helper()
	for name := range strings.FieldsSeq(names) {
		d.send(press(name))
		d.settle()
	}
	return d
}

var named = map[string]rune{
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "enter": tea.KeyEnter, "esc": tea.KeyEscape,
	"tab": tea.KeyTab, "space": tea.KeySpace, "home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
	"backspace": tea.KeyBackspace,
}

func press(name string) tea.KeyPressMsg {
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: []rune(rest)[0], Mod: tea.ModCtrl}
	}
	if rest, ok := strings.CutPrefix(name, "shift+"); ok {
		return tea.KeyPressMsg{Code: named[rest], Mod: tea.ModShift}
	}
	if code, ok := named[name]; ok {
		k := tea.KeyPressMsg{Code: code}
		if name == "space" {
			k.Text = " "
		}
		return k
	}
	r := []rune(name)
	return tea.KeyPressMsg{Code: r[0], Text: name}
}

func (d *driver) screen() string { return plainScreen(d.app.view()) }

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got), go test -update writes it anew:\n%s", path, diff)
	}
}

// sizes are those of an old terminal, a usual one and a large one.
var sizes = [][2]int{{80, 24}, {120, 40}, {200, 50}}

func TestGolden(t *testing.T) {
	for _, c := range []struct{ name, keys string }{
		{"overview", "1"},
		{"loop", "2"},
		{"loop-children", "2 / c o n f i g enter enter"},
		{"pods", "3"},
		{"cri", "4"},
		{"cri-methods", "4 m"},
		{"cri-call", "4 s G enter"},
		{"gc", "5"},
		{"gc-verdicts", "5 enter"},
		{"pod-pulling", "6"},
		{"pod-slow", "1 j j j enter"},
		{"pod-crash", "1 j j enter"},
		{"step-none", "7"},
		{"log", "9"},
		{"log-all", "9 a"},
		{"log-record", "9 k enter"},
		{"help", "4 ?"},
		{"starts", "r"},
		{"sources", "o"},
		{"sources-detail", "o j enter"},
		{"eviction", "x"},
		{"resources-none", "n"},
		{"node", "8"},
		{"pod-learn", "1 j j j enter L j j"},
		{"compare-pick", "1 j j j t"},
		{"compare", "1 j j j t enter"},
		{"pod-cause", "1 j j j enter G G / K L 0 enter G enter"},
		{"filter-bad", "3 / / w e ( "},
	} {
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1])
			bubble(t, name, func(t *testing.T) {
				d := drive(t, Config{}, size[0], size[1]).play().keys(c.keys)
				golden(t, name, d.screen())
				within(t, d.screen(), size[0], size[1])
			})
		}
	}
}

// TestGoldenCluster is TestGolden on a node of a cluster.
func TestGoldenCluster(t *testing.T) {
	for _, c := range []struct{ name, keys string }{
		{"volumes", "v"},
		{"volumes-detail", "v j j enter"},
		{"volumes-filter", "v / a t t a c h enter"},
		{"status", "u"},
		{"status-requests", "t m"},
		{"status-detail", "t enter"},
		{"status-help", "t ?"},
		{"probes", "p"},
		{"node-in-cluster", "8"},
		{"sources-in-cluster", "o"},
		{"pod-in-cluster", "t G enter esc p G enter"},
	} {
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1])
			bubble(t, name, func(t *testing.T) {
				d := drive(t, Config{}, size[0], size[1]).cluster().keys(c.keys)
				golden(t, name, d.screen())
				within(t, d.screen(), size[0], size[1])
			})
		}
	}
}

// TestGoldenShortage is TestGolden on a node that runs out of memory, disk and API server.
func TestGoldenShortage(t *testing.T) {
	for _, c := range []struct{ name, keys string }{
		{"overview-short", "1"},
		{"sources-failing", "o"},
		{"sources-api", "o enter"},
		{"sources-manifest", "o j j enter"},
		{"eviction-short", "x"},
		{"node-short", "8"},
		{"node-short-end", "8 G"},
	} {
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1])
			bubble(t, name, func(t *testing.T) {
				d := drive(t, Config{}, size[0], size[1]).shortage().keys(c.keys)
				golden(t, name, d.screen())
				within(t, d.screen(), size[0], size[1])
			})
		}
	}
}

// TestGoldenMachine is TestGolden on a machine of which containers have CPUs, memory and devices for themselves.
func TestGoldenMachine(t *testing.T) {
	for _, c := range []struct{ name, keys string }{
		{"resources", "n"},
		{"resources-owner", "n m m m j"},
		{"resources-node", "n j j enter"},
		{"resources-container", "n m m m j j j enter"},
		{"resources-device", "n m m enter"},
		{"resources-refused", "n m enter"},
		{"resources-why", "n m w"},
		{"resources-filter", "n / g p u enter"},
		{"resources-learn", "n m L"},
	} {
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1])
			bubble(t, name, func(t *testing.T) {
				d := drive(t, Config{}, size[0], size[1]).machine().keys(c.keys)
				golden(t, name, d.screen())
				within(t, d.screen(), size[0], size[1])
			})
		}
	}
}

// TestGoldenAttached is TestGolden of the resources of another kubelet's node.
func TestGoldenAttached(t *testing.T) {
	for _, c := range []struct{ name, keys string }{
		{"attached-resources", "n"},
		{"attached-resources-node", "n j enter"},
		{"attached-resources-container", "n m m m m j enter"},
		{"attached-resources-device", "n m m enter"},
		{"attached-resources-claim", "n m m m enter"},
	} {
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1])
			bubble(t, name, func(t *testing.T) {
				d := drive(t, Config{}, size[0], size[1]).attached().keys(c.keys)
				golden(t, name, d.screen())
				within(t, d.screen(), size[0], size[1])
			})
		}
	}
}

// TestGoldenClaims is TestGolden on a node whose pods use ResourceClaims.
func TestGoldenClaims(t *testing.T) {
	for _, c := range []struct{ name, keys string }{
		{"claims", "n m"},
		{"claims-claim", "n m j j j enter"},
		{"claims-failed", "n m / r a d i o enter enter"},
	} {
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1])
			bubble(t, name, func(t *testing.T) {
				d := drive(t, Config{}, size[0], size[1]).claims().keys(c.keys)
				golden(t, name, d.screen())
				within(t, d.screen(), size[0], size[1])
			})
		}
	}
}

// TestGoldenSpans is TestGolden where the runtime told of its own work.
func TestGoldenSpans(t *testing.T) {
	for _, c := range []struct{ name, keys string }{
		{"pod-spans", "6 j j j j j L"},
		{"starts-spans", "r L"},
	} {
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1])
			bubble(t, name, func(t *testing.T) {
				d := drive(t, Config{}, size[0], size[1])
				d.app.apply([]chunk{{recs: tuitest.Spans()}})
				d.app.refresh()
				d.keys(c.keys)
				golden(t, name, d.screen())
				within(t, d.screen(), size[0], size[1])
			})
		}
	}
}

// bubble runs a subtest in a bubble.
func bubble(t *testing.T, name string, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// within checks that a screen keeps to its size.
func within(t *testing.T, screen string, w, h int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
	if len(lines) > h {
		t.Errorf("%d lines, want at most %d", len(lines), h)
	}
	for i, l := range lines {
		if n := fit.Width(l); n > w {
			t.Errorf("line %d is %d columns wide, want at most %d: %q", i+1, n, w, l)
		}
	}
}
