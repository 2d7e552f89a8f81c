package semaphore

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// simulation is a container runtime in simulated time: CPUs that runnable calls share equally, one lock, and time in which a call
// waits for something that is not the machine's work. Pods take a slot in order of arrival and keep it for their calls.
type simulation struct {
	cpus  int
	noise float64 // standard deviation of the logarithm of a call's CPU time
	rng   *rand.Rand
	now   float64 // seconds
	width *width  // nil: fixed
	size  int
	sizes []int // each width that was adopted
}

// call is one call of the runtime: seconds under the lock (on a CPU), on a CPU, and of waiting.
type call struct {
	kind              string
	lock, busy, waits float64
}

func startCalls() []call {
	return []call{{"cgroup", 0, .004, 0}, {"sandbox", .001, .060, .040}, {"create", .001, .020, .005}, {"start", .001, .030, .015}}
}

func endCalls() []call {
	return []call{{"stop-sandbox", .001, .030, .060}, {"remove-sandbox", .001, .010, .005}}
}

// job is a pod with its slot.
type job struct {
	calls    []call
	at       int // index of the current call
	left     [3]float64
	phase    int
	began    float64
	area     float64 // ∫ busy at begin
	size     int
	limited  bool
	hung     bool
	finished float64
}

// burst runs n pods that arrive at once and returns the times of their ends. width ≤ 0 is all at once. Those for which hangs
// returns true do not end their first call; they lose their slot after a second.
func (s *simulation) burst(n int, calls []call, hangs func(int) bool) []float64 {
	from := s.now
	var queue, running []*job
	for i := range n {
		queue = append(queue, &job{calls: calls, hung: hangs != nil && hangs(i)})
	}
	all := slices.Clone(queue)
	area, granted := 0.0, 0
	for len(queue)+len(running) > 0 {
		for len(queue) > 0 && (s.size <= 0 || len(running) < s.size) {
			j := queue[0]
			queue = queue[1:]
			running = append(running, j)
			granted++
			s.begin(j, area, len(queue) > 0 && granted > 2*s.size)
		}
		// rates: the first of the lock's queue runs; runnable calls share the CPUs, less a little for switching between them
		var lock *job
		runnable := 0
		for _, j := range running {
			if j.hung {
				continue
			}
			if j.phase == 0 {
				if lock == nil {
					lock = j
					runnable++
				}
			} else if j.phase == 1 {
				runnable++
			}
		}
		over := math.Max(0, float64(runnable-s.cpus))
		rate := math.Min(1, float64(s.cpus)/math.Max(1, float64(runnable))) / (1 + .002*over)
		speed := func(j *job) float64 {
			switch {
			case j.hung, j.phase == 0 && j != lock:
				return 0
			case j.phase == 2:
				return 1
			}
			return rate
		}
		dt := math.Inf(1)
		for _, j := range running {
			if j.hung {
				dt = math.Min(dt, math.Max(0, j.began+1-s.now))
			} else if v := speed(j); v > 0 {
				dt = math.Min(dt, j.left[j.phase]/v)
			}
		}
		for _, j := range running {
			j.left[j.phase] -= dt * speed(j)
		}
		s.now += dt
		area += dt * float64(len(running))
		keep := running[:0]
		for _, j := range running {
			if s.advance(j, area, len(queue) > 0, granted > 2*s.size) {
				keep = append(keep, j)
			}
		}
		running = keep
	}
	var ends []float64
	for _, j := range all {
		if !j.hung {
			ends = append(ends, j.finished-from)
		}
	}
	slices.Sort(ends)
	return ends
}

func (s *simulation) begin(j *job, area float64, limited bool) {
	c := j.calls[j.at]
	f := math.Exp(s.noise*s.rng.NormFloat64() - s.noise*s.noise/2)
	j.left, j.phase, j.began, j.area, j.size, j.limited = [3]float64{c.lock, c.busy * f, c.waits * f}, 0, s.now, area, s.size, limited
}

// advance moves a job over the phases that ended. It returns false when the job releases its slot.
func (s *simulation) advance(j *job, area float64, limited, steady bool) bool {
	if j.hung {
		if s.now < j.began+1-1e-9 {
			return true
		}
		if s.width != nil {
			s.adapt(s.width.void())
		}
		return false
	}
	for j.left[j.phase] <= 1e-9 {
		if j.phase < 2 {
			j.phase++
			continue
		}
		if took := s.now - j.began; s.width != nil && j.limited && limited && j.size == s.size {
			s.adapt(s.width.observe(sample{
				kind: j.calls[j.at].kind, took: time.Duration(took * 1e9), busy: (area - j.area) / took, width: j.size,
				at: time.Unix(0, int64(s.now*1e9)),
			}))
		}
		if j.at++; j.at == len(j.calls) {
			j.finished = s.now
			return false
		}
		s.begin(j, area, limited && steady)
	}
	return true
}

func (s *simulation) adapt(c change, ok bool) {
	if !ok {
		return
	}
	s.size = c.to
	if c.why == adopts {
		s.sizes = append(s.sizes, c.to)
	}
}

func newSimulation(cpus, size int, adaptive bool, noise float64, seed uint64) *simulation {
	s := &simulation{cpus: cpus, size: size, noise: noise, rng: rand.New(rand.NewPCG(seed, 1))}
	if adaptive {
		s.width = newWidth(size, boundsOf(cpus))
		s.size = s.width.size
	}
	return s
}

func boundsOf(cpus int) Bounds { return Bounds{Min: 2, Max: 4 * cpus} }

func startOf(cpus int) int { return max(2, 3*cpus/2) }

// settled returns an adaptive simulation after that many bursts of enough pods for its slots.
func settled(cpus, bursts int, calls []call, noise float64, seed uint64) *simulation {
	s := newSimulation(cpus, startOf(cpus), true, noise, seed)
	for range bursts {
		s.burst(max(60, 8*cpus), calls, nil)
	}
	return s
}

// fixed returns the median and the last end of a burst with a fixed width, as means of several bursts.
func fixed(cpus, size, pods int, calls []call, noise float64) (median, last float64) {
	const bursts = 5
	s := newSimulation(cpus, size, false, noise, 99)
	for range bursts {
		ends := s.burst(pods, calls, nil)
		median += ends[len(ends)/2] / bursts
		last += ends[len(ends)-1] / bursts
	}
	return median, last
}

// bestFixed returns the smallest width with the best last end of a burst, and that time.
func bestFixed(cpus, pods int, calls []call, noise float64) (best int, last float64) {
	last = math.Inf(1)
	for size := 2; size <= 4*cpus; size += max(1, size/16) {
		if _, l := fixed(cpus, size, pods, calls, noise); l < last*.999 {
			best, last = size, l
		}
	}
	return best, last
}
