package semaphore

import (
	"testing"
	"time"
)

func many(n int, d time.Duration) (out []time.Duration) {
	for range n {
		out = append(out, d)
	}
	return out
}

func TestPatience(t *testing.T) {
	const s = time.Second
	const ms = time.Millisecond
	for _, c := range []struct {
		name  string
		taken []time.Duration
		want  time.Duration
	}{
		{"nothing known", nil, 5 * s},
		{"too little known", many(3, 20*s), 5 * s},
		{"fast work has the floor", many(32, 10*ms), s},
		{"a burst: four times what it takes now", many(32, 600*ms), 2400 * ms},
		{"one in five that hung moves nothing", append(many(25, 300*ms), many(7, 240*s)...), 1200 * ms},
		{"a runtime that is slow for all has the ceiling", many(32, 30*s), 10 * s},
	} {
		if got := (Pace{}).orDefault().patience(c.taken); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestLatelyKeepsTheLatest(t *testing.T) {
	var l lately
	for range 100 {
		l.learn("sandbox", time.Minute)
	}
	for range window {
		l.learn("sandbox", time.Millisecond)
	}
	if got := l.taken("sandbox"); len(got) != window || usual(got) != time.Millisecond {
		t.Errorf("%d durations, usually %s", len(got), usual(got))
	}
	for i := range 10 * maxKinds {
		l.learn(string(rune('a'+i)), time.Second)
	}
	if len(l.of) > maxKinds {
		t.Errorf("%d kinds are kept, more than %d", len(l.of), maxKinds)
	}
}

func TestNext(t *testing.T) {
	for _, c := range []struct {
		name    string
		waiting []standing
		grants  uint64
		want    int
	}{
		{"nobody", nil, 9, -1},
		{"the class with the fewest places", []standing{{name: "start", held: 2, last: 1}, {name: "end", held: 1, last: 9}}, 9, 1},
		{"of equal ones, which had none for longest", []standing{{name: "start", held: 1, last: 8}, {name: "end", held: 1, last: 7}}, 9, 1},
		{"of new ones, which came first", []standing{{name: "start", seq: 5}, {name: "end", seq: 4}}, 9, 1},
		{"who overstayed waits for eight others", []standing{{name: slowClass, last: 2}, {name: "start", held: 2, last: 9}}, 9, 1},
		{"and then has a turn", []standing{{name: slowClass, last: 1}, {name: "start", held: 2, last: 9}}, 9, 0},
		{"but no second place", []standing{{name: slowClass, last: 1, held: 1}, {name: "start", held: 2, last: 9}}, 9, 1},
		{"unless nobody else waits", []standing{{name: slowClass, last: 9, held: 2}}, 9, 0},
	} {
		if got := next(c.waiting, c.grants); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
