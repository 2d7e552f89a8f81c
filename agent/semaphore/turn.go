package semaphore

import "github.com/kubeloupe/kubeloupe/trace"

// Turn is a request for a slot.
type Turn struct {
	// Class is a group of work with a common share of the slots. There should be few classes: the slots keep the state of a class
	// while one of its pieces of work waits or runs.
	Class string
	// Slow says that the work overstayed before. All such work is one class, regardless of Class.
	Slow bool
	// Large says that the work is large for the machine. All such work is one class, regardless of Class and Slow: it
	// has one slot, when no others work or after eight of their turns.
	Large bool
	// Order is the order within the class: smaller goes first, equal ones in order of arrival.
	Order uint64
	// Pod is the pod that others see as the holder of the slot.
	Pod trace.Pod
}

// slowClass is the class of all work that overstayed, largeClass that of large work.
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

// standing is the state of a class with waiters.
type standing struct {
	name string
	// held is the number of the class's slots.
	held int
	// last is the number of the grant when it last got a slot, 0 for never. If equal, seq decides, which is the arrival
	// of its first waiter.
	last, seq uint64
}

// slowEvery is the number of turns of others before a turn of work that overstayed while others wait, or of large work
// while others work.
const slowEvery = 8

// next returns the index of the class whose turn it is, after that many grants; -1 if there is none.
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
