package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// line returns the first line of the screen that contains s, "" when none does.
func (d *driver) line(s string) string {
	for l := range strings.Lines(d.screen()) {
		if strings.Contains(l, s) {
			return strings.TrimSuffix(l, "\n")
		}
	}
	return ""
}

// want fails when the screen does not contain each of texts.
func (d *driver) want(texts ...string) {
	d.t.Helper()
	for _, s := range texts {
		if !strings.Contains(d.screen(), s) {
			d.t.Errorf("no %q on screen:\n%s", s, d.screen())
		}
	}
}

func (d *driver) wantNot(texts ...string) {
	d.t.Helper()
	for _, s := range texts {
		if strings.Contains(d.screen(), s) {
			d.t.Errorf("%q on screen:\n%s", s, d.screen())
		}
	}
}

func TestKeysGoToViews(t *testing.T) { synctest.Test(t, testKeysGoToViews) }

func testKeysGoToViews(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play()
	for _, tab := range d.app.tabs {
		d.keys(tab.digit)
		d.want("▶" + tab.digit + " " + tab.page.Name())
	}
	d.keys("1 tab").want("▶2 Loop")
	d.keys("shift+tab shift+tab").want("▶r Starts")
	d.keys("tab").want("▶1 Overview")
	d.wantNot("7 Step") // nothing is stepped
	d.keys("6 tab").want("▶8 Node")
	d.keys("tab").want("▶9 Log")
	d.keys("tab").want("▶v Volumes")
	d.keys("1 0").want("▶1 Overview") // there is no view 0
	d.keys("3 5 esc").want("▶3 Pods")
}

func TestKeysMove(t *testing.T) { synctest.Test(t, testKeysMove) }

func testKeysMove(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play().keys("3")
	for _, c := range []struct{ keys, want string }{
		{"j", "shop/cart-7d4f-x2z"},
		{"down", "shop/web-00"},
		{"k", "shop/cart-7d4f-x2z"},
		{"up", "jobs/flaky"},
		{"G", "shop/cart-7d4f-a1b"},
		{"g", "jobs/flaky"},
		{"end", "shop/cart-7d4f-a1b"},
		{"home", "jobs/flaky"},
		{"pgdown", "shop/web-17"},
		{"ctrl+d", "shop/cart-7d4f-a1b"},
		{"pgup", "shop/web-10"},
		{"ctrl+b", "jobs/flaky"},
		{"k", "jobs/flaky"},
	} {
		d.keys(c.keys)
		if got := d.line("▶"); !strings.Contains(selectedRow(d), c.want) {
			t.Errorf("after %s the cursor is on %q, want %s (%q)", c.keys, selectedRow(d), c.want, got)
		}
	}
}

// selectedRow returns the row with the mark, past the tabs.
func selectedRow(d *driver) string {
	for i, l := range strings.Split(d.screen(), "\n") {
		if i >= bodyTop && strings.HasPrefix(l, "▶") {
			return l
		}
	}
	return ""
}

func TestSelectionStaysWithItsRow(t *testing.T) { synctest.Test(t, testSelectionStaysWithItsRow) }

func testSelectionStaysWithItsRow(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play().keys("2 j j j")
	before := selectedRow(d)
	d.app.apply([]chunk{{recs: more(t, 40)}})
	d.app.refresh()
	if got := selectedRow(d); got != before {
		t.Errorf("after new rows the cursor is on %q, was on %q", got, before)
	}
	for _, size := range [][2]int{{120, 40}, {60, 16}, {80, 24}} {
		d.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
	}
	if got := selectedRow(d); got != before {
		t.Errorf("after a resize the cursor is on %q, was on %q", got, before)
	}
	d.keys("g")
	newest := selectedRow(d)
	d.app.apply([]chunk{{recs: more(t, 3)}})
	d.app.refresh()
	if got := selectedRow(d); got == newest {
		t.Errorf("at the edge the cursor does not follow: %q", got)
	}
}

// more returns records of further loop iterations.
func more(t *testing.T, n int) []trace.Record {
	t.Helper()
	var out []trace.Record
	for i := range n {
		moreLoops++
		out = append(out, trace.Record{
			Seq: 100000 + moreLoops, Time: tuitest.Epoch.Add(tuitest.Length).UnixNano() + int64(i), Edge: trace.EdgeEnd, Dur: time.Millisecond,
			Span: trace.SpanID(1<<40 + moreLoops), Event: &trace.Loop{N: 1000 + moreLoops, Case: trace.LoopSync},
		})
	}
	return out
}

var moreLoops uint64

func TestFilter(t *testing.T) { synctest.Test(t, testFilter) }

func testFilter(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play().keys("3 / w e b - 1")
	d.want("filter: web-1", "shop/web-10")
	d.wantNot("shop/web-07", "jobs/flaky")
	d.keys("space ~ (").want("not a regular expression: missing closing", "shop/web-10")
	d.keys("backspace backspace backspace enter").want("filter: web-1", "10 of 32", "Esc drops it")
	d.keys("1 3").want("filter: web-1") // it stays with its view
	d.keys("esc").want("jobs/flaky")
	d.wantNot("filter:")
	d.keys("1 / n s = j o b s").want("jobs/flaky")
	d.wantNot("shop/cart-7d4f-a1b")
	d.keys("esc 3 / z z z z").want("nothing matches the filter")
	d.keys("esc").want("jobs/flaky")
	d.keys("/ W E B").want("nothing matches the filter") // capitals count
	d.keys("ctrl+u").want("jobs/flaky")
	d.send(tea.PasteMsg{Content: "flaky\nsecond line"})
	d.want("filter: flaky", "jobs/flaky")
	d.wantNot("shop/web-10", "second line")
	d.keys("q").want("filter: flakyq") // q is a letter here
	d.keys("ctrl+w ctrl+c").want("jobs/flaky", "q quit")
	d.keys("/ ! r e a d y").want("jobs/flaky")
	d.wantNot("shop/web-10")
	d.keys("ctrl+u e r r ~ f l a k").want("jobs/flaky")
	d.wantNot("shop/web-10")
	d.keys("ctrl+u - f l a k y | c a r t").want("shop/web-10") // - is as ! in k9s
	d.wantNot("jobs/flaky", "shop/cart")
	d.keys("ctrl+u s t a t s = x").want(`no field "stats": did you mean state?`)
}

func TestSort(t *testing.T) { synctest.Test(t, testSort) }

func testSort(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play().keys("3 s")
	d.want("sorted by pod", "POD▲")
	if got := selectedRow(d); !strings.Contains(got, "jobs/flaky") {
		t.Errorf("first by name: %q", got)
	}
	d.keys("s s s").want("RESTART▼")
	seen := 0
	for range 30 {
		d.keys("s")
		if strings.Contains(d.screen(), "in the usual order") {
			seen++
		}
	}
	if seen == 0 {
		t.Error("sorting never comes back to the order of arrival")
	}
	d.keys("1 s").want("latest starts")
	d.keys("s").want("starts by name")
	d.keys("s").want("slowest starts")
}

func TestFreeze(t *testing.T) { synctest.Test(t, testFreeze) }

func testFreeze(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play().keys("2 space")
	before := selectedRow(d)
	d.app.absorb(recsMsg{chunks: []chunk{{lost: 2, recs: more(t, 5)}}})
	d.now = d.now.Add(time.Minute)
	d.send(tickMsg{})
	d.want("FROZEN +7")
	if got := selectedRow(d); got != before {
		t.Errorf("frozen, but the row changed from %q to %q", before, got)
	}
	d.keys("space").want("LIVE", "dropped 2")
	if got := selectedRow(d); got == before {
		t.Error("what came while frozen is not shown")
	}
}

func TestBacklogIsBounded(t *testing.T) { synctest.Test(t, testBacklogIsBounded) }

func testBacklogIsBounded(t *testing.T) {
	var b backlog
	for range 100 {
		b.add([]chunk{{lost: 1, recs: make([]trace.Record, 700)}, {recs: make([]trace.Record, 300)}})
	}
	held, lost := 0, uint64(0)
	for _, c := range b.take() {
		held += len(c.recs)
		lost += c.lost
	}
	if held > maxBacklog+maxBacklog/8 || held < maxBacklog {
		t.Errorf("%d records kept", held)
	}
	if got := uint64(held) + lost; got != 100*1001 {
		t.Errorf("%d kept and lost together, want %d", got, 100*1001)
	}
}

func TestDrillInAndBack(t *testing.T) { synctest.Test(t, testDrillInAndBack) }

func testDrillInAndBack(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play()
	d.keys("1 enter").want("a manifest that cannot be used", "line      7", "The earlier version stays in effect.")
	d.keys("esc j enter").want("▶6 Pod", "shop/cart-7d4f-x2z")
	d.keys("/ i m a g e enter j j j enter").want("image.pull", "PullImage", "Esc back")
	d.keys("esc").want("filter: image")
	d.keys("esc").want("▿ waterfall")
	d.keys("esc").want("▶1 Overview")
	d.keys("G enter").want("▶4 CRI", "filter: method=Status")
	d.keys("esc").wantNot("filter: ")
	d.keys("j j enter").want("request", "response", "code      OK")
	d.keys("esc 5 enter").want("unused for 3d04h, the longest", "last used=3d04h ago")
	d.keys("esc 2 j j enter").want("syncLoop iteration", "loop config ADD", "pod.sync")
	d.keys("9 enter").want("record", "\"kind\": \"node.event\"")
}

func TestPodKeys(t *testing.T) { synctest.Test(t, testPodKeys) }

func testPodKeys(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play().keys("6").want2("shop/cart-7d4f-x2z")
	d.keys("[").want("jobs/flaky")
	d.keys("[").want("shop/cart-7d4f-a1b")
	d.keys("] ] ]").want("shop/web-00")
	d.keys("enter").want("nothing to open on this line")
}

func TestPodAnswersFirst(t *testing.T) { synctest.Test(t, testPodAnswersFirst) }

// testPodAnswersFirst: on the smallest usual screen the answer and the first rows of the waterfall need no key.
func testPodAnswersFirst(t *testing.T) {
	for keys, answer := range map[string][]string{
		"1 j enter":     {"▶cause   KL02 slow network in a pull (1.90s)", " now     it is pulling redis:7.2", " next    the download is complete"},
		"1 j j enter":   {"▶state   CrashLoopBackOff main: back-off 20s", " now     it waits (backoff) for main (20s), 5.0s so far", " next    the agent retries, in 15.0s"},
		"1 j j j enter": {"▶start   it started and was ready in 4.24s; image pull is the critical path", " cause   KL02", " slow    over the usual: 99 % of the other starts here took at most 1.94s"},
	} {
		d := drive(t, Config{}, 80, 24).play().keys(keys)
		d.want(answer...)
		d.want("▿ waterfall", "▸seen ← file ADD", "sandbox")
		if d.cursorLine() != bodyTop+1 {
			t.Errorf("%s: the answer is not the first line:\n%s", keys, d.screen())
		}
	}
}

// cursorLine is the line of the screen with the cursor.
func (d *driver) cursorLine() int {
	return slices.IndexFunc(strings.Split(d.screen(), "\n"), func(l string) bool { return strings.HasPrefix(l, "▶") })
}

func TestPodFolds(t *testing.T) { synctest.Test(t, testPodFolds) }

// testPodFolds: sections stay as they were left, for the next pod too, and a filter looks into all.
func testPodFolds(t *testing.T) {
	d := drive(t, Config{}, 80, 40).play().keys("6 [").want2("jobs/flaky")
	d.keys("j j j").want("▶▿ waterfall", "RESTARTS", "Back-off restarting failed container main")
	d.keys("left").want("▶▹ waterfall  cgroup 2ms + sandbox 196ms")
	d.wantNot("▸seen")
	d.keys("right").want("▶▿ waterfall", "▸seen")
	d.keys("j j left").want("▶▿ waterfall") // first to the title
	d.keys("enter").want("▶▹ waterfall")
	d.keys("j j enter").want("▶▹ containers  0 of 1 ready")
	d.wantNot("RESTARTS")
	d.keys("] ]").want("shop/web-00", "▹ waterfall", "▹ containers")
	d.wantNot("▸seen", "RESTARTS")
	d.keys("1 6").want("▹ waterfall")
	d.keys("/ s a n d b o x enter").want("RunPodSandbox")
	d.wantNot("▹")
}

func (d *driver) want2(s string) *driver {
	d.t.Helper()
	d.want(s)
	return d
}

func TestHelpListsTheKeysOfTheView(t *testing.T) { synctest.Test(t, testHelpListsTheKeysOfTheView) }

func testHelpListsTheKeysOfTheView(t *testing.T) {
	d := drive(t, Config{}, 100, 50).play().keys("4 ?")
	d.want("help: CRI", "calls, or figures per method", "write the screen to a file")
	d.keys("?").want("▶4 CRI")
	d.wantNot("help: CRI")
	for _, tab := range d.app.tabs {
		d.keys(tab.digit + " ?")
		for _, b := range append(tab.page.Keys(), less(d.app.look.Keys.Global(), tab.page.Keys())...) { // a page comes first
			d.want(b.Help().Key, b.Help().Desc)
		}
		d.keys("esc")
	}
}

// TestEveryKeyOfHelpWorks presses every key that is bound, in every view.
func TestEveryKeyOfHelpWorks(t *testing.T) { synctest.Test(t, testEveryKeyOfHelpWorks) }

func testEveryKeyOfHelpWorks(t *testing.T) {
	for _, at := range []string{"1", "2", "3", "4", "5", "6", "7", "9", "v", "u", "p"} {
		d := drive(t, Config{Stepper: tuitest.NewSteps()}, 80, 24).play().keys(at)
		for _, b := range append(d.app.top().Keys(), d.app.look.Keys.Global()...) {
			for _, name := range b.Keys() {
				if len([]rune(name)) > 1 && named[name] == 0 && !strings.HasPrefix(name, "ctrl+") && !strings.HasPrefix(name, "shift+") {
					t.Errorf("key %q is not known to the test", name)
					continue
				}
				d.send(press(name))
				within(t, d.screen(), 80, 24)
				d.app.open(nil)
			}
		}
	}
}

func TestExport(t *testing.T) { synctest.Test(t, testExport) }

func testExport(t *testing.T) {
	dir := t.TempDir()
	d := drive(t, Config{ExportDir: dir}, 80, 24).play().keys("3 e")
	path := filepath.Join(dir, "kubeloupe-pods-20260314-092808.txt")
	d.want("written to ")
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got), "jobs/flaky") || strings.Contains(string(got), "\x1b") {
		t.Errorf("exported:\n%s", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	d.keys("1 e") // another view in the same second
	d.keys("3 e") // the same view in the same second
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	want := []string{"kubeloupe-overview-20260314-092808.txt", "kubeloupe-pods-20260314-092808-2.txt", "kubeloupe-pods-20260314-092808.txt"}
	if !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
	bad := drive(t, Config{ExportDir: filepath.Join(dir, "nowhere")}, 80, 24).play().keys("e")
	bad.want("could not export: ")
}

func TestQuit(t *testing.T) { synctest.Test(t, testQuit) }

func testQuit(t *testing.T) {
	for _, name := range []string{"q", "ctrl+c"} {
		d := drive(t, Config{}, 80, 24).play()
		cmd := d.app.update(press(name))
		if cmd == nil {
			t.Fatalf("%s does nothing", name)
		}
		if _, ok := cmd().(tea.QuitMsg); !ok {
			t.Errorf("%s does not quit", name)
		}
	}
}

func TestMouse(t *testing.T) { synctest.Test(t, testMouse) }

func testMouse(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play()
	d.want("▶1 Overview 2 Loop 3 Pods")
	d.send(tea.MouseClickMsg{X: 23, Y: 1, Button: tea.MouseLeft})
	d.want("▶3 Pods")
	d.send(tea.MouseClickMsg{X: 4, Y: bodyTop + 3, Button: tea.MouseLeft})
	if got := selectedRow(d); !strings.Contains(got, "shop/web-00") {
		t.Errorf("clicked row: %q", got)
	}
	d.send(tea.MouseWheelMsg{X: 4, Y: 10, Button: tea.MouseWheelDown})
	if got := selectedRow(d); !strings.Contains(got, "shop/web-03") {
		t.Errorf("after the wheel: %q", got)
	}
	d.send(tea.MouseWheelMsg{X: 4, Y: 10, Button: tea.MouseWheelUp})
	d.send(tea.MouseClickMsg{X: 4, Y: bodyTop + 3, Button: tea.MouseLeft})
	d.want("▶6 Pod", "shop/web-00")
	for y := range 24 { // wherever one clicks
		for _, tab := range d.app.tabs {
			d.keys(tab.digit)
			d.send(tea.MouseClickMsg{X: 30, Y: y, Button: tea.MouseLeft})
			d.send(tea.MouseClickMsg{X: 30, Y: y, Button: tea.MouseLeft})
		}
	}
}

func TestStep(t *testing.T) { synctest.Test(t, testStep) }

func testStep(t *testing.T) {
	steps := tuitest.NewSteps()
	d := drive(t, Config{Stepper: steps}, 80, 24)
	d.want("▶7 Step", "Waiting for the first stop.")
	d.run(d.app.step.Listen(t.Context()))
	d.want("paused before  RunPodSandbox", "3 of 7", "✓ volumes", "▶ sandbox", "· start cart", "hostname: cart-7d4f-x2z", "changed: + /sys/fs", "more lines")
	golden(t, "step-80x24", d.screen())
	d.keys("p").want("runtime.v1.RunPodSandboxRequest", "Esc back")
	d.keys("esc b").want("stop before (empty")
	d.keys("s t a r t enter").want("stops before start")
	d.keys("b enter").want("want the name of an action")
	d.keys("n").want("paused before  image redis:7.2", "nothing changed since the last stop", "makes no CRI request")
	d.keys("c").want("no action is left")
	if cmd := d.app.update(press("q")); cmd == nil {
		t.Fatal("q does nothing")
	} else if msg, ok := cmd().(views.StepReply); !ok || msg.Line != "q" {
		t.Errorf("q on the step view: %#v, want the stepper asked to clean up first", msg)
	}
	if want := []string{"p", "b start", "b", "n", "c", "q"}; !slices.Equal(steps.Asked, want) {
		t.Errorf("asked %q, want %q", steps.Asked, want)
	}
	if cmd := d.app.update(views.StepReply{Line: "q"}); cmd == nil {
		t.Error("after the clean-up the UI does not end")
	}
}

// slowSteps takes commands and tells no further stop.
type slowSteps struct{ *tuitest.Steps }

func (slowSteps) Do(context.Context, string) (string, error) { return "", nil }

func TestStepFollowsWhatRuns(t *testing.T) { synctest.Test(t, testStepFollowsWhatRuns) }

func testStepFollowsWhatRuns(t *testing.T) {
	d := drive(t, Config{Stepper: slowSteps{tuitest.NewSteps()}}, 80, 24)
	d.run(d.app.step.Listen(t.Context()))
	d.keys("n").want("running  RunPodSandbox")
	pod := trace.Pod{Namespace: "shop", Name: "cart-7d4f-x2z", UID: "9f"}
	s := &tuitest.Script{}
	s.Point(0, tuitest.Span{}.Of(pod), &trace.Milestone{Name: trace.MilestoneSeen})
	sandbox := s.Begin(time.Second, tuitest.Span{}.Of(pod), &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	d.app.absorb(recsMsg{chunks: []chunk{{recs: s.Records()}}})
	d.want("running  sandbox", "▶ sandbox")
	s.End(2*time.Second, sandbox, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	s.Both(2*time.Second, 3*time.Second, tuitest.Span{}.Of(pod), &trace.Action{ID: "create cart", Verb: trace.VerbCreate, Err: "no space left"})
	d.app.absorb(recsMsg{chunks: []chunk{{recs: s.Records()[2:]}}})
	d.want("nothing waits; the pod is starting", "✓ sandbox          1.00s", "✗ create cart", "create cart failed: no space left")
}

func TestStepEnds(t *testing.T) { synctest.Test(t, testStepEnds) }

// When all containers run, the page says so, and how long each action took without the
// time that the person took.
func testStepEnds(t *testing.T) {
	d := drive(t, Config{Stepper: slowSteps{tuitest.NewSteps()}}, 80, 24)
	d.run(d.app.step.Listen(t.Context()))
	d.keys("c").want("runtime.v1.RunPodSandboxRequest")
	of := tuitest.Span{}.Of(trace.Pod{Namespace: "shop", Name: "cart-7d4f-x2z", UID: "9f"})
	s := &tuitest.Script{}
	s.Point(0, of, &trace.Milestone{Name: trace.MilestoneSeen})
	sandbox := s.Begin(0, of, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	s.Both(0, 9*time.Second, sandbox, &trace.Wait{For: trace.WaitGate, Target: trace.Target{Kind: trace.TargetPerson}})
	s.End(10*time.Second, sandbox, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	s.Point(11*time.Second, of, &trace.Milestone{Name: trace.MilestoneStarted, Since: 11 * time.Second})
	d.app.absorb(recsMsg{chunks: []chunk{{recs: s.Records()}}})
	d.want("all containers run", "✓ sandbox          1.00s", "q deletes the pod", "^C quits; the pod continues")
	if screen := d.screen(); strings.Contains(screen, "RunPodSandboxRequest") || strings.Contains(screen, "changed:") {
		t.Errorf("the last stop is still shown:\n%s", screen)
	}
}

func TestScreensInWords(t *testing.T) { synctest.Test(t, testScreensInWords) }

func testScreensInWords(t *testing.T) {
	d := drive(t, Config{}, 80, 24)
	d.want("waiting for the first event", "LIVE", "0 ev/s")
	for view, want := range map[string]string{
		"2": "no iteration of syncLoop seen yet", "3": "no pods now", "4": "no call to the runtime seen yet",
		"5": "no garbage collection pass seen yet", "6": "no pod now", "7": "There is no step session.", "9": "no important event yet",
	} {
		d.keys(view).want(want)
	}
	d.send(tea.WindowSizeMsg{Width: 59, Height: 24})
	d.want("This terminal is 59x24. kubeloupe needs 60x16 or more.")
	d.send(tea.WindowSizeMsg{Width: 7, Height: 2})
	within(t, d.screen(), 7, 2)
}

func TestEndOfStream(t *testing.T) { synctest.Test(t, testEndOfStream) }

func testEndOfStream(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play()
	d.app.absorb(recsMsg{err: fmt.Errorf("connection reset by peer")})
	d.want("ENDED", "the stream of events broke: connection reset by peer")
}

func TestSimulatedIsSaid(t *testing.T) { synctest.Test(t, testSimulatedIsSaid) }

func testSimulatedIsSaid(t *testing.T) {
	for _, w := range []int{60, 80, 120} {
		d := drive(t, Config{}, w, 24).play()
		d.app.apply([]chunk{{recs: []trace.Record{{Seq: 9999, Time: d.now.UnixNano(), Event: &trace.Agent{State: trace.AgentReady, Simulated: true}}}}})
		d.want("SIMULATED", "LIVE")
	}
}

func TestASCIITerminal(t *testing.T) { synctest.Test(t, testASCIITerminal) }

func testASCIITerminal(t *testing.T) {
	for _, env := range [][]string{{"TERM=linux"}, {"TERM=vt220"}, {"TERM=xterm", "LC_ALL=C"}, {"TERM=xterm", "LANG=en_US.ISO-8859-1"}} {
		d := drive(t, Config{Env: env}, 80, 24).play()
		for _, tab := range d.app.tabs {
			d.keys(tab.digit)
			for i, r := range d.app.view() {
				if r > 126 {
					t.Fatalf("%v, view %s: %q at %d", env, tab.page.Name(), r, i)
				}
			}
		}
	}
	golden(t, "ascii-80x24", drive(t, Config{Env: []string{"TERM=linux"}}, 80, 24).play().keys("6 [ [").screen())
}

func TestNothingThatWasNotCleaned(t *testing.T) { synctest.Test(t, testNothingThatWasNotCleaned) }

func testNothingThatWasNotCleaned(t *testing.T) {
	evil := "a\x1b]0;title\x07b\x1b[2J\u202e\u2066c\x00\x9bd\xff\n\te\u200d\u00ad\U000e0041\u3164" + strings.Repeat("\u0301", 9)
	var recs []trace.Record
	add := func(e trace.Event, edge trace.Edge) {
		recs = append(recs, trace.Record{
			Seq: uint64(len(recs) + 1), Time: tuitest.Epoch.UnixNano() + int64(len(recs)), Edge: edge, Span: trace.SpanID(len(recs) + 1),
			Pod: trace.Pod{Namespace: evil, Name: evil, UID: "1"}, Event: e,
		})
	}
	for _, kind := range trace.Kinds() {
		e, ok := trace.New(kind)
		if !ok {
			t.Fatal(kind)
		}
		fill(e, evil)
		add(e, trace.EdgeBegin)
		add(e, trace.EdgePoint)
	}
	for _, w := range []int{80, 120} {
		d := drive(t, Config{}, w, 24)
		d.app.apply([]chunk{{recs: recs}})
		d.app.setNow()
		d.app.refresh()
		for _, keys := range []string{"1", "2", "2 enter", "3", "3 enter", "4", "4 enter", "4 esc m", "5", "5 enter", "6", "6 j enter", "9", "9 enter", "9 esc a", "9 a enter", "v", "v enter", "u", "u enter", "u esc m", "p", "p enter"} {
			d.keys(keys)
			d.send(tea.PasteMsg{Content: evil})
			clean(t, keys, d.app.view())
			within(t, d.screen(), w, 24)
			d.keys("esc esc")
		}
	}
}

// clean checks that a frame holds no escape sequence but ours, which are SGR.
func clean(t *testing.T, where, frame string) {
	t.Helper()
	rest := sgr.ReplaceAllString(frame, "")
	var marks human.Marks
	for _, r := range rest {
		if r != '\n' && human.Hidden(r) || marks.Over(r) || r == 0xfffd {
			t.Errorf("%s: %q is drawn:\n%q", where, r, rest)
			return
		}
	}
}

func TestAdoptedPod(t *testing.T) { synctest.Test(t, testAdoptedPod) }

func testAdoptedPod(t *testing.T) {
	d := drive(t, Config{}, 80, 24)
	s := &tuitest.Script{}
	pod := tuitest.Span{}.Of(trace.Pod{Namespace: "shop", Name: "old", UID: "1"})
	s.Point(0, pod, &trace.Milestone{Name: trace.MilestoneSeen, Adopted: true})
	s.Point(time.Second, pod, &trace.Milestone{Name: trace.MilestoneStarted, Adopted: true})
	s.Point(time.Second, pod, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1, Containers: []trace.ContainerStatus{{Name: "main", State: trace.ContainerRunning}}})
	d.app.apply([]chunk{{recs: s.Records()}})
	d.app.refresh()
	d.want("1 ready", "no pod has started since the first event")
	d.want("1 adopted: it ran before this agent", "shop/old", "1/1 ready  adopted 1m15s ago")
	d.keys("6").want("shop/old", "ready", "did not see it start")
}

// TestManyAdopted: what runs since before the agent is counted, and leaves room for what starts.
func TestManyAdopted(t *testing.T) { synctest.Test(t, testManyAdopted) }

func testManyAdopted(t *testing.T) {
	d := drive(t, Config{}, 80, 24)
	s := &tuitest.Script{}
	for i := range 30 {
		pod := tuitest.Span{}.Of(trace.Pod{Namespace: "shop", Name: fmt.Sprintf("old-%02d", i), UID: fmt.Sprint(i)})
		s.Point(0, pod, &trace.Milestone{Name: trace.MilestoneSeen, Adopted: true})
		s.Point(time.Second, pod, &trace.Milestone{Name: trace.MilestoneStarted, Adopted: true})
		ready := 1
		if i == 0 {
			ready = 0
		}
		s.Point(time.Second, pod, &trace.PodStatus{Phase: trace.PodRunning, Ready: ready, Total: 1})
	}
	d.app.apply([]chunk{{recs: s.Records()}})
	d.app.refresh()
	d.want("30 total", "29 ready", "not ready 1m14s after it was adopted", "29 adopted: they ran before this agent, ", " of 29 shown", "no pod has started")
	d.keys("G").want("▶shop/old-")
	d.keys("enter").want("did not see it start")
	d.keys("esc").keys("/")
	for _, k := range "old-07" {
		d.keys(string(k))
	}
	d.keys("enter").want("1 adopted", "shop/old-07")
	d.send(tea.WindowSizeMsg{Width: 80, Height: 16})
	d.want("30 total", "CRI, last minute")
}

func TestPodIsToldOf(t *testing.T) { synctest.Test(t, testPodIsToldOf) }

// testPodIsToldOf: w, d and y are about the pod under the cursor in each view that has one, and c copies what they show.
func testPodIsToldOf(t *testing.T) {
	const name = "shop/cart-7d4f-a1b"
	for _, view := range []string{"1 j j j", "3 G", "1 j j j enter", "9 r g"} {
		d := drive(t, Config{}, 200, 50).play().keys(view)
		d.want("w why  l logs  d describe  y YAML")
		d.keys("w").want("why "+name, name+" started and was ready in 4.24s", "CRITICAL PATH")
		d.keys("/ K L 0 2 enter").want("KL02 slow network in a pull (likely): cost 3.28s")
		d.keys("esc esc d").want("describe "+name, "Namespace:", "Restart policy:", "Started in:")
		d.keys("esc y").want("yaml "+name, "namespace: shop", "started_in_ns:")
		if cmd := d.app.update(press("c")); cmd == nil || !strings.Contains(fmt.Sprint(cmd()), "namespace: shop") {
			t.Errorf("%s: c does not copy the YAML", view)
		}
	}
	d := drive(t, Config{}, 80, 24).play().keys("1 G w")
	d.want("no pod is selected")
	if cmd := d.app.update(press("c")); cmd == nil {
		t.Error("c copies nothing in the Overview")
	}
}
