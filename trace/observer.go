package trace

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Observer is the observer of a record's event. One stream can have records of several observers.
type Observer uint8

// The observers.
const (
	ObserverAgent         Observer = iota // the agent itself, by its own action or a call to it
	ObserverRuntimeSpan                   // a span that the container runtime sent (OpenTelemetry)
	ObserverRuntimeLog                    // a line of the container runtime's log
	ObserverRuntimeEvents                 // the container runtime's events
	ObserverRuntimeList                   // a read-only list call to the container runtime
	ObserverKernel                        // the kernel: file notifications, mounts, cgroups, pressure
	ObserverKubeletLog                    // a line of a kubelet's log
	ObserverKubeletSpan                   // a span that a kubelet sent (OpenTelemetry)
	ObserverKubeletAPI                    // a kubelet's own API
	ObserverProxy                         // a proxy between a kubelet and its container runtime
	ObserverAPIServer                     // the Kubernetes API: objects and Events
)

// observers are the encoded names. They never change.
var observers = [...]string{
	ObserverAgent: "agent", ObserverRuntimeSpan: "runtime-span", ObserverRuntimeLog: "runtime-log", ObserverRuntimeEvents: "runtime-events",
	ObserverRuntimeList: "runtime-list", ObserverKernel: "kernel", ObserverKubeletLog: "kubelet-log", ObserverKubeletSpan: "kubelet-span",
	ObserverKubeletAPI: "kubelet-api", ObserverProxy: "proxy", ObserverAPIServer: "api-server",
}

// Observers returns the names of all observers, as encoded.
func Observers() []string { return slices.Clone(observers[:]) }

// Observer returns the default observer of a kind, which encodings omit.
func (k Kind) Observer() Observer {
	if k == kindRuntimeSpan {
		return ObserverRuntimeSpan
	}
	return ObserverAgent
}

// String returns the observer's name, as encoded.
func (o Observer) String() string {
	if int(o) < len(observers) {
		return observers[o]
	}
	return fmt.Sprintf("observer-%d", uint8(o))
}

// MarshalText implements encoding.TextMarshaler.
func (o Observer) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Observer) UnmarshalText(b []byte) error {
	for i, name := range observers {
		if string(b) == name {
			*o = Observer(i)
			return nil
		}
	}
	return fmt.Errorf("observer %q: want one of %v", b, observers)
}

// ObserverSet is a set of observers. Encodings write their names with commas between.
type ObserverSet uint16

// With returns the set with o.
func (s ObserverSet) With(o Observer) ObserverSet { return s | 1<<o }

// Without returns the set without o.
func (s ObserverSet) Without(o Observer) ObserverSet { return s &^ (1 << o) }

// Foreign reports whether one of them watches a kubelet that is not kubeloupe's agent. What such a kubelet does without a record is unknown.
func (s ObserverSet) Foreign() bool {
	const foreign = 1<<ObserverRuntimeLog | 1<<ObserverRuntimeEvents | 1<<ObserverRuntimeList | 1<<ObserverKubeletLog | 1<<ObserverKubeletSpan |
		1<<ObserverKubeletAPI | 1<<ObserverProxy
	return s&foreign != 0
}

// All returns the observers of the set, in the order of their constants.
func (s ObserverSet) All() (out []Observer) {
	for o := range observers {
		if s&(1<<o) != 0 {
			out = append(out, Observer(o))
		}
	}
	return out
}

// String returns the names of the observers, with commas between.
func (s ObserverSet) String() string {
	var names []string
	for _, o := range s.All() {
		names = append(names, o.String())
	}
	return strings.Join(names, ",")
}

// MarshalText implements encoding.TextMarshaler.
func (s ObserverSet) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *ObserverSet) UnmarshalText(b []byte) error {
	*s = 0
	for name := range bytes.SplitSeq(b, []byte(",")) {
		var o Observer
		if err := o.UnmarshalText(name); err != nil {
			return err
		}
		*s = s.With(o)
	}
	return nil
}

// Precision is how exactly the observer knew the time, in microseconds: the event happened at most that long before or
// after the record's Time. 0 means as exact as the clock: a program that records its own actions. A log whose times end
// with milliseconds has a precision of 1 ms; a poll has its period.
type Precision uint32

// PrecisionOf rounds up to whole microseconds, and down to the largest precision, some 71 minutes. A negative duration
// is exact.
func PrecisionOf(d time.Duration) Precision {
	us := max(d, 0) / time.Microsecond
	if d > us*time.Microsecond {
		us++
	}
	return Precision(min(us, math.MaxUint32))
}

// Duration returns the precision as a duration.
func (p Precision) Duration() time.Duration { return time.Duration(p) * time.Microsecond }

// SeenBy returns the span with its observer and the precision of its time; spans below it inherit both.
func SeenBy(s Span, o Observer, precision time.Duration) Span {
	s.Observer, s.Precision = o, PrecisionOf(precision)
	return s
}
