package observers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/bundle"
	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
)

// set is some observers.
type set struct {
	name  string
	level int      // the kubelet's verbosity
	files []string // of a capture
	// share is how much of the starts of pods alone may be unexplained, edge how far a phase's begin and end may be off: their medians,
	// because the machine is shared; 0 where there is no target.
	share float64
	edge  time.Duration
	// calls says that only calls are seen: then a pod that crashes has never started.
	calls bool
}

const exact = 10 * time.Millisecond

var sets = []set{
	{"containerd's log", 4, []string{containerdLog}, 0, exact, true},
	{"kubelet's log V2", 2, []string{kubeletLog}, 0, 0, false},
	{"kubelet's log V2, containerd's log", 2, []string{kubeletLog, containerdLog}, 0.35, exact, false},
	{"kubelet's log V4", 4, []string{kubeletLog}, 0, 0, false},
	{"kubelet's log V4, containerd's log", 4, []string{kubeletLog, containerdLog}, 0.10, exact, false},
	{"attach, all that it has, V2", 2, []string{liveFile}, 0.35, exact, false},
	{"attach, all that it has, V4", 4, []string{liveFile}, 0.10, exact, false},
	{"proxy", 4, []string{proxyFile}, 0.05, exact, true},
}

// alone are the pods that start alone. crash exits again and again: when it has started is a matter of opinion, and no target is about it.
var alone = []string{"plain", "full", "pulls", "probed", crash}

const crash = "crash"

// TestObservers prints how well each set of observers knows the starts of pods.
func TestObservers(t *testing.T) {
	dir := *captures
	if !*run && dir == "" {
		t.Skip("needs -observers")
	}
	if *run {
		b := shared.Get(t)
		if dir == "" {
			dir = t.TempDir()
		}
		for _, level := range []int{2, 4} {
			t.Run(fmt.Sprintf("capture at V%d", level), func(t *testing.T) { b.capture(t, level, captured(dir, level)) })
		}
		if t.Failed() {
			return
		}
	}
	var shares, edges strings.Builder
	fmt.Fprintf(&shares, "| seen by | %s | %d at once: median | most |\n|%s\n", strings.Join(alone, " | "), burst, strings.Repeat(" --- |", len(alone)+3))
	fmt.Fprintf(&edges, "| seen by | phases | not seen | begin: median | 95 %% | end: median | 95 %% | within %v | %d at once: begin: 95 %% | end: 95 %% | pods mixed up |\n|%s\n", exact, burst, strings.Repeat(" --- |", 11))
	for _, s := range sets {
		s.row(t, captured(dir, s.level), &shares, &edges)
	}
	t.Logf("unexplained share of each start:\n%s", shares.String())
	t.Logf("phases' begins and ends against the calls that the proxy relayed:\n%s", edges.String())
}

func captured(dir string, level int) string { return filepath.Join(dir, fmt.Sprintf("v%d", level)) }

// row adds a set's rows to the tables, and checks them.
func (s set) row(t *testing.T, dir string, shares, edges io.Writer) {
	t.Helper()
	names := namesIn(t, filepath.Dir(dir))
	truth := NewTruth(recorded(t, filepath.Join(dir, proxyFile)), names)
	ns := fmt.Sprintf("v%d/", s.level)
	truth.Phases = slices.DeleteFunc(truth.Phases, func(p Phase) bool { return !strings.HasPrefix(names[p.Pod], ns) })
	recs := s.records(t, dir)

	share := Shares(recs)
	fmt.Fprintf(shares, "| %s |", s.name)
	var single []float64
	for _, name := range alone {
		v, ok := share[ns+name]
		switch {
		case ok:
			fmt.Fprintf(shares, " %.1f %% |", 100*v)
		case name == crash && s.calls:
			fmt.Fprint(shares, " – |")
		default:
			fmt.Fprint(shares, " – |")
			t.Errorf("%s: the start of %s was not seen", s.name, name)
		}
		if ok && name != crash {
			single = append(single, v)
		}
	}
	if slices.Sort(single); s.share > 0 && len(single) > 0 && single[len(single)/2] > s.share {
		t.Errorf("%s: the median of unexplained shares is %.1f %%, want at most %.0f %%", s.name, 100*single[len(single)/2], 100*s.share)
	}
	var many []float64
	for i := range burst {
		if v, ok := share[fmt.Sprintf("%smany-%d", ns, i)]; ok {
			many = append(many, v)
		}
	}
	slices.Sort(many)
	if len(many) != burst {
		t.Errorf("%s: %d starts of %d were seen", s.name, len(many), burst)
	}
	if len(many) > 0 {
		fmt.Fprintf(shares, " %.1f %% | %.1f %% |\n", 100*many[len(many)/2], 100*many[len(many)-1])
	}

	all, missing := Compare(truth.Phases, Phases(recs))
	var begin, end, burstBegin, burstEnd []time.Duration
	near := 0 // begins and ends
	for _, e := range all {
		if strings.HasPrefix(names[e.Phase.Pod], ns+"many-") {
			burstBegin, burstEnd = append(burstBegin, e.Begin), append(burstEnd, e.End)
			continue
		}
		begin, end = append(begin, e.Begin), append(end, e.End)
		for _, off := range []time.Duration{e.Begin, e.End} {
			if max(off, -off) <= exact {
				near++
			}
		}
	}
	mixed := truth.Mixed(recs)
	for _, r := range mixed[:min(len(mixed), 3)] {
		t.Errorf("%s: another pod's: %v %v %+v", s.name, r.Pod, r.Event.Kind(), r.Event)
	}
	b, e, bb, be := SpreadOf(begin), SpreadOf(end), SpreadOf(burstBegin), SpreadOf(burstEnd)
	if s.edge > 0 && max(b.P50, e.P50) > s.edge {
		t.Errorf("%s: half of the phases begin more than %v off, or end more than %v off; want at most %v", s.name, b.P50, e.P50, s.edge)
	}
	fmt.Fprintf(edges, "| %s | %d | %d | %s | %s | %s | %s | %.0f %% | %s | %s | %d |\n", s.name, len(all), len(missing),
		ms(b.P50), ms(b.P95), ms(e.P50), ms(e.P95), 100*float64(near)/float64(max(2*len(begin), 1)), ms(bb.P95), ms(be.P95), len(mixed))
}

// namesIn are the names of all pods of captures, by UID: those of the one before may still be ending.
func namesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", namesFile))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil {
			err = json.Unmarshal(text, &names)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }

// records are what a set of observers tells.
func (s set) records(t *testing.T, dir string) []trace.Record {
	t.Helper()
	var paths []string
	for _, f := range s.files {
		if strings.HasSuffix(f, ".klr") {
			return recorded(t, filepath.Join(dir, f))
		}
		paths = append(paths, filepath.Join(dir, f))
	}
	return logged(t, paths...)
}

func recorded(t *testing.T, file string) (recs []trace.Record) {
	t.Helper()
	r, err := recording.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for item, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, item.Rec)
	}
	return recs
}

func logged(t *testing.T, files ...string) (recs []trace.Record) {
	t.Helper()
	s, err := bundle.Open(t.Context(), files, bundle.Options{Zone: time.Local})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for {
		some, _, err := s.Next(t.Context(), make([]trace.Record, 0, 512))
		recs = append(recs, some...)
		if errors.Is(err, io.EOF) {
			return recs
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
