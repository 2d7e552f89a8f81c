package trace

import (
	"fmt"
	"time"
	"unsafe"
)

// Kind is the number of an event type within one build. Encodings contain its name, which never changes.
type Kind uint8

// Event is implemented by pointers to this package's event types.
type Event interface {
	Kind() Kind
}

// kindOf is what the bus and the encodings need for an event type.
type kindOf struct {
	name  string
	fresh func() Event
	clone func(Event) Event
	reset func(Event)
	limit func(Event, limiter) int
}

func describe[E any, P pointerTo[E]](name string) kindOf {
	return kindOf{
		name:  name,
		fresh: func() Event { return P(new(E)) },
		clone: func(e Event) Event {
			c := P(new(E))
			if p, ok := e.(P); ok {
				*c = *p
			}
			return c
		},
		reset: func(e Event) {
			if p, ok := e.(P); ok {
				var zero E
				*p = zero
			}
		},
		limit: func(e Event, l limiter) int {
			p, ok := e.(P)
			if !ok {
				return 0
			}
			return int(unsafe.Sizeof(*p)) + p.limit(l)
		},
	}
}

// String returns the kind's name, as encoded.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k].name
	}
	return fmt.Sprintf("kind-%d", uint8(k))
}

// Kinds returns the names of all event types, in the order of their numbers.
func Kinds() []string {
	names := make([]string, 0, len(kinds))
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// New returns a new event of the named kind, false if there is no such kind.
func New(name string) (Event, bool) {
	for _, k := range kinds {
		if k.name == name {
			return k.fresh(), true
		}
	}
	return nil, false
}

func durationOf(ns int64) time.Duration { return time.Duration(ns) }
