package waterfall

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestColor requires that colored text says the same as plain text, in the phases' colors.
func TestColor(t *testing.T) {
	pod := trace.Pod{Namespace: "shop", Name: "cart", UID: "1"}
	tp := tape.New()
	tp.Point(0, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI})
	pull := tp.Begin(0, pod, 0, &trace.Action{ID: "image redis", Verb: trace.VerbImage, Target: "redis"})
	tp.End(time.Second, pull, &trace.Action{ID: "image redis", Verb: trace.VerbImage, Target: "redis"})
	create := tp.Begin(time.Second, pod, 0, &trace.Action{ID: "create cart", Verb: trace.VerbCreate, Container: "cart"})
	tp.End(2*time.Second, create, &trace.Action{ID: "create cart", Verb: trace.VerbCreate, Container: "cart", Err: "\x1b[5mno"})
	w, err := Build(tp.Recs, pod)
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{40, 80, 120} {
		plain, colored := w.Text(width, TextOptions{}), w.Text(width, TextOptions{Color: true})
		if got := regexp.MustCompile(`\x1b\[\d*m`).ReplaceAllString(colored, ""); got != plain {
			t.Errorf("at %d columns, without colors it is\n%s\nnot\n%s", width, got, plain)
		}
		for _, sgr := range []string{Stage.Hue(StageImage).SGR() + "\x1b[1m", "\x1b[91m"} {
			if !strings.Contains(colored, sgr) {
				t.Errorf("at %d columns there is no %q in %q", width, sgr, colored)
			}
		}
		if strings.Contains(colored, StageCreate.Hue().SGR()) {
			t.Errorf("at %d columns, what failed has the color of its phase: %q", width, colored)
		}
	}
}
