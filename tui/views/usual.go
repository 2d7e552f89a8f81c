package views

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// leastStarts is of how many starts there must be figures before one of them is called slow.
const leastStarts = 5

// usual is how long starts on this node usually take: the 99th percentile; 0 while there are too few of them.
type usual time.Duration

// usualOf is the usual time of starts of other pods than one; of all pods if that is the zero pod.
func usualOf(starts []model.Start, but trace.Pod) usual {
	var took []time.Duration
	for i := range starts {
		if s := &starts[i]; s.Pod != but && s.ToStarted > 0 {
			took = append(took, s.ToStarted)
		}
	}
	if len(took) < leastStarts {
		return 0
	}
	slices.Sort(took)
	return usual(model.Percentile(took, 99))
}

// over reports whether something took longer than a whole start usually does.
func (u usual) over(d time.Duration) bool { return u > 0 && d > time.Duration(u) }

func (u usual) text() string {
	return "over the usual: 99 % of the other starts here took at most " + style.Dur(time.Duration(u))
}
