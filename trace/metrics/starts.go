package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Start is an explained start of a pod.
type Start struct {
	// Outcome is ready, started, failed or unfinished.
	Outcome string
	// Took is the time until all containers ran, or so far.
	Took time.Duration
	// Phases are its actions by verb, Waits the total of each kind of wait on its critical path, Causes the
	// costs of the causes that were found, by id.
	Phases, Waits, Causes []Part
	// Trace is where the spans of this start are, which becomes the exemplar; zero if they are not sent.
	Trace trace.TraceID
}

// Part is a part of a start.
type Part struct {
	Name string
	Dur  time.Duration
}

// starts are the metrics of explained starts. Names are closed sets; values limits them nevertheless.
type starts struct {
	total, causes                       *prometheus.CounterVec
	took, phases, waits, costs          *prometheus.HistogramVec
	outcomeNames, phaseNames, waitNames values
	causeNames                          values
}

// startBuckets are the classic buckets, in seconds, for who reads no native histograms: few, because each is a series.
var startBuckets = []float64{0.01, 0.1, 0.5, 1, 5, 30, 120}

func newStarts() starts {
	return starts{
		total:        startCounters("pod_starts_total", "Starts of pods that ended, or took long, by outcome.", "outcome"),
		causes:       startCounters("pod_start_causes_total", "Causes of starts that were slow, failed or sent as spans, by id (docs/causes).", "cause"),
		took:         startHistograms("pod_start_seconds", "How long starts of pods took until all containers ran, by outcome.", "outcome"),
		phases:       startHistograms("pod_start_phase_seconds", "How long actions of starts of pods took, by verb.", "phase"),
		waits:        startHistograms("pod_start_wait_seconds", "How long the critical path of starts of pods waited, by what for.", "kind"),
		costs:        startHistograms("pod_start_cause_seconds", "How much of the critical path causes cost, by id (docs/causes).", "cause"),
		outcomeNames: values{}, phaseNames: values{}, waitNames: values{}, causeNames: values{},
	}
}

// Expect makes the counters of these outcomes of starts, with 0: from a counter that does not exist, Prometheus sees no increase to 1. It may
// not be called while Start is.
func (s *Sink) Expect(outcomes ...string) {
	for _, o := range outcomes {
		s.starts.total.WithLabelValues(s.starts.outcomeNames.label(o))
	}
}

// Start applies an explained start. It may be called while Apply is, by one goroutine.
func (s *Sink) Start(st Start) {
	var at prometheus.Labels
	if !st.Trace.IsZero() {
		at = prometheus.Labels{"trace_id": st.Trace.String()}
	}
	outcome := s.starts.outcomeNames.label(st.Outcome)
	count(s.starts.total, outcome, at)
	observe(s.starts.took, outcome, st.Took, at)
	for _, p := range st.Phases {
		observe(s.starts.phases, s.starts.phaseNames.label(p.Name), p.Dur, at)
	}
	for _, p := range st.Waits {
		observe(s.starts.waits, s.starts.waitNames.label(p.Name), p.Dur, at)
	}
	for _, p := range st.Causes {
		name := s.starts.causeNames.label(p.Name)
		count(s.starts.causes, name, at)
		observe(s.starts.costs, name, p.Dur, at)
	}
}

func observe(to *prometheus.HistogramVec, label string, d time.Duration, exemplar prometheus.Labels) {
	h := to.WithLabelValues(label)
	if e, ok := h.(prometheus.ExemplarObserver); ok && exemplar != nil {
		e.ObserveWithExemplar(d.Seconds(), exemplar)
		return
	}
	h.Observe(d.Seconds())
}

func count(to *prometheus.CounterVec, label string, exemplar prometheus.Labels) {
	c := to.WithLabelValues(label)
	if e, ok := c.(prometheus.ExemplarAdder); ok && exemplar != nil {
		e.AddWithExemplar(1, exemplar)
		return
	}
	c.Inc()
}

// startHistograms creates histograms that are native ones too: about 10 % between two buckets, 100 of them at most.
func startHistograms(name, help, label string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "kubeloupe", Name: name, Help: help, Buckets: startBuckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	}, []string{label})
}

func startCounters(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "kubeloupe", Name: name, Help: help}, []string{label})
}

func (s *starts) all() []prometheus.Collector {
	return []prometheus.Collector{s.total, s.causes, s.took, s.phases, s.waits, s.costs}
}

// results are what can happen to a span for a collector.
var results = []string{"sent", "refused", "dropped"}

// export counts spans on their way to a collector.
func (s *Sink) export(e *trace.SpanExport) {
	for i, now := range []uint64{e.Sent, e.Refused, e.Dropped} {
		result := results[i]
		if was := s.exported[result]; now > was {
			s.exportedSpans.WithLabelValues(result).Add(float64(now - was))
		}
		s.exported[result] = now
	}
	s.exportQueue.Set(float64(e.Queued))
}
