package observers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	// most is how much of the starts of pods alone may be unexplained, edge how far a phase's begin and end may be off: their medians,
	// because the machine is shared; 0 where there is no target.
	most float64
	edge time.Duration
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
	{"attach with spans, V2", 2, []string{spansFile}, 0.35, exact, false},
	{"attach with spans, V4", 4, []string{spansFile}, 0.10, exact, false},
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
	var out tables
	for _, s := range sets {
		s.rows(t, captured(dir, s.level), &out)
	}
	t.Logf("unexplained share of each start:\n| seen by | %s | %d at once: median | most |\n|%s\n%s", strings.Join(alone, " | "), burst, strings.Repeat(" --- |", len(alone)+3), out.shares.String())
	edges := fmt.Sprintf("| seen by | phases | not seen | begin: median | 95 %% | end: median | 95 %% | within %v | %d at once: begin: 95 %% | end: 95 %% | pods mixed up |\n|%s\n", exact, burst, strings.Repeat(" --- |", 11))
	t.Logf("phases' begins and ends against the calls that the proxy relayed:\n%s%s", edges, out.proxy.String())
	t.Logf("phases' begins and ends against containerd's own spans of the calls:\n%s%s", edges, out.spans.String())
	t.Logf("the worst of the pods that start alone, against the proxy's calls:\n%s", out.worst.String())
}

func captured(dir string, level int) string { return filepath.Join(dir, fmt.Sprintf("v%d", level)) }

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
