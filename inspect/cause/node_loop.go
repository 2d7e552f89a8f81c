package cause

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// nodeBlocked is how long iterations of the syncLoop take that make a node slow: a few that are shorter delay single pods.
const nodeBlocked = time.Second

// nodeLoop is a syncLoop that is blocked, or was for long.
func nodeLoop(c *Case) *Finding {
	f := &Finding{Confidence: Certain, Remedy: loopRemedy, RuledOutBy: "kubeloupe inspect loop shows that later iterations began and ended in that time."}
	var at []stretch
	longest, what := time.Duration(0), ""
	loops := nodeSpans[*trace.Loop](c)
	for i := range loops {
		l := &loops[i]
		if l.Dur() < nodeBlocked {
			continue
		}
		name := strings.TrimSpace(string(l.Event.Case) + " " + string(l.Event.Op))
		at = append(at, stretch{l.Start, l.Stop})
		f.Evidence = append(f.Evidence, evidence(l.Rec(), "syncLoop iteration %d (%s): %s", l.Event.N, name, took(l.Dur(), l.Open)))
		with, doing := c.busyWith(l)
		if doing != nil {
			f.Evidence = append(f.Evidence, *doing)
		}
		f.Current = f.Current || l.Open
		if l.Dur() > longest {
			longest, what = l.Dur(), fmt.Sprintf("iteration %d (%s), %s", l.Event.N, name, cmp.Or(with, "no record shows by what"))
		}
	}
	if len(at) == 0 {
		return nil
	}
	f.Cost = covered(at)
	f.Sentence = fmt.Sprintf("the syncLoop was blocked for %s, so nothing that happened reached a pod: %s", took(f.Cost, f.Current), what)
	return f
}
