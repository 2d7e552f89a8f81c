package semaphore

import "github.com/kubeloupe/kubeloupe/trace"

// Turn is who wants a place.
type Turn struct {
	// Class is a group of work with a common share of the slots. There should be few classes: the slots keep the state of a class
	// while one of its pieces of work waits or runs.
	Class string
	// Slow says that it overstayed before. Those who did are one class, whatever Class says.
	Slow bool
	// Large says that the work is much for the machine. All such work is one class, whatever Class and Slow say: it has one place, when no
	// others work or after eight of their turns.
	Large bool
	// Order is the order within the class: smaller goes first, equal ones in order of arrival.
	Order uint64
	// Pod is what others learn about who holds a place.
	Pod trace.Pod
}

// slowClass is the class of all who overstayed, largeClass that of large work.
const (
	slowClass  = "\x00slow"
	largeClass = "\x00large"
)

func (t *Turn) class() string {
	switch {
	case t.Large:
		return largeClass
	case t.Slow:
		return slowClass
	}
	return t.Class
}

// standing is how a class stands in which somebody waits.
type standing struct {
	name string
	// held are the places that the class has now.
	held int
	// last is the number of the grant when it last got one, 0 for never; waits break the tie by seq, which is
	// when the first of it came.
	last, seq uint64
}

// slowEvery is how often those who overstayed have a turn while others wait, and large work while others work: after so many of theirs.
const slowEvery = 8

// next is the index of the class whose turn it is, after so many grants; -1 when it is nobody's.
func next(waiting []standing, grants uint64) int {
	best := -1
	for i, c := range waiting {
		switch {
		case c.name == slowClass && len(waiting) > 1 && (c.held > 0 || grants-c.last < slowEvery):
		case best < 0, before(c, waiting[best]):
			best = i
		}
	}
	return best
}

func before(a, b standing) bool {
	switch {
	case a.held != b.held:
		return a.held < b.held
	case a.last != b.last:
		return a.last < b.last
	}
	return a.seq < b.seq
}
