package metrics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Sink computes metrics from records. Create it with New.
type Sink struct {
	set
	pods       map[trace.Pod]*pod
	desired    map[trace.SourceName]int // pods by source
	lastRelist int64
	// Label values that others choose: exit codes of containers, reasons of the runtime, drivers' names in pods, codes
	// of drivers, resources of device plugins.
	exits, reasons, plugins, drivers, codes, resources, handlers values
	claims                                                       claimsOf
	exported                                                     map[string]uint64 // spans by result, as last told
	starts                                                       starts
	apiHost                                                      atomic.Pointer[string]
}

// New returns a sink whose metrics, and those of the Go runtime and the process, are registered with reg. It fails if
// one of those names is already registered.
func New(reg prometheus.Registerer) (*Sink, error) {
	s := &Sink{
		set: newSet(), pods: map[trace.Pod]*pod{}, desired: map[trace.SourceName]int{},
		exits: values{}, reasons: values{}, plugins: values{}, drivers: values{}, codes: values{}, resources: values{}, handlers: values{},
		claims: newClaimsOf(), exported: map[string]uint64{}, starts: newStarts(),
	}
	s.Host("")
	all := append(append(s.collectors(), s.starts.all()...), collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll)), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, c := range all {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	for _, result := range results { // from a counter that does not exist, Prometheus sees no increase: the first loss would be missed
		s.exportedSpans.WithLabelValues(result)
	}
	s.claimsInUse.WithLabelValues(anyDriver) // 0, as upstream, until there is a claim
	return s, nil
}

// Host says which API server the requests go to, as HOST:PORT. It may be called at any time; it is a label, and there is one server.
func (s *Sink) Host(host string) {
	if now := s.apiHost.Load(); now == nil || *now != host {
		s.apiHost.Store(&host)
	}
}

// Run applies cur's records until ctx is done or cur is closed.
func (s *Sink) Run(ctx context.Context, cur *trace.Cursor) error {
	buf := make([]trace.Record, 0, 256)
	for {
		recs, lost, err := cur.Next(ctx, buf)
		if errors.Is(err, trace.ErrClosed) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read records for metrics: %w", err)
		}
		s.Lost(lost)
		for i := range recs {
			s.Apply(&recs[i])
		}
	}
}

// Lost counts n records that were missed.
func (s *Sink) Lost(n uint64) {
	s.recordsLost.Add(float64(n))
	if n > 0 {
		s.inflight.forget()
	}
}

// Apply applies one record.
func (s *Sink) Apply(r *trace.Record) {
	if r == nil || r.Event == nil {
		return
	}
	s.records.WithLabelValues(r.Event.Kind().String()).Inc()
	if p := s.pods[r.Pod]; p != nil && p.birth != nil && s.latency.observe(p.birth, r) {
		p.birth = nil
	}
	switch e := r.Event.(type) {
	case *trace.Milestone:
		s.milestone(r, e)
	case *trace.PodStatus:
		s.status(r, e)
	case *trace.Worker:
		s.worker(r, e)
	case *trace.Sync:
		s.sync(r, e)
	case *trace.PLEGRelist:
		s.relist(r)
	case *trace.Source:
		s.source(e)
	case *trace.Decision:
		s.decision(e)
	case *trace.DevicePlugin, *trace.DeviceAllocation:
		s.device(e)
	case *trace.ResourceClaim:
		s.claim(e)
	case *trace.ClaimDescribed:
		s.inUse(e)
	case *trace.Allocation:
		s.allocations.apply(e)
	case *trace.Resize:
		s.resizes.apply(e)
	case *trace.Eviction:
		if e.Outcome == trace.EvictionEvicted {
			s.more.statsAge.WithLabelValues(signalLabel(e.Signal)).Observe(e.Age.Seconds())
		}
	case *trace.Shutdown:
		s.shutdown(e)
	case *trace.Agent:
		s.identity.named(e)
		if e.State == trace.AgentStarting {
			s.nodeStart.agent = time.Unix(0, r.Time)
		}
	case *trace.NodeDescribed:
		s.nodeStart.cgroups.Set(float64(e.CgroupVersion))
	case *trace.NodeStatus:
		s.nodeStart.write(r, e)
	case *trace.PLEGMode:
		s.more.mode(e)
	case *trace.PLEGEvent:
		if e.From == trace.PLEGEvented {
			s.more.streamLag.Observe(time.Duration(e.Lag).Seconds())
		}
	case *trace.NodeEvent:
		if e.Reason == "LifecycleHTTPFallback" {
			s.more.fallbacks.Inc()
		}
	case *trace.ServerRequest:
		if r.Edge == trace.EdgeBegin {
			s.inflight.begin(r.Span, e)
		}
	case *trace.Action:
		if e.Verb == trace.VerbVolumes {
			s.volumesWanted(r, e)
		}
	case *trace.Wait:
		s.identity.waited(r, e)
	case *trace.Certificate:
		s.identity.certified(r, e)
	case *trace.SpanExport:
		s.export(e)
	}
	if r.Edge == trace.EdgeEnd {
		s.ended(r)
	}
}

// ended applies the end of something that is observed only then.
func (s *Sink) ended(r *trace.Record) {
	sec := r.Dur.Seconds()
	switch e := r.Event.(type) {
	case *trace.CRICall:
		op := Operation(e.Method)
		s.runtimeOps.WithLabelValues(op).Inc()
		s.runtimeOpsDuration.WithLabelValues(op).Observe(sec)
		failed := e.Err != "" || (e.Code != "" && e.Code != "OK")
		if failed {
			s.runtimeOpsErrors.WithLabelValues(op).Inc()
		}
		s.more.call(s, e, failed, sec)
	case *trace.Wait:
		if e.For == trace.WaitGate {
			s.gate(r)
		}
		s.waitSeconds.WithLabelValues(string(e.For)).Add(sec)
		s.more.credentials.waited(s, e, sec)
	case *trace.ImagePull:
		if e.Err == "" && !e.Shared {
			s.imagePull.WithLabelValues(sizeBucket(e.Bytes)).Observe(sec)
		}
	case *trace.CgroupOp:
		op := string(e.Op)
		if e.Op == trace.CgroupEnsure {
			op = "create"
		}
		s.cgroupDuration.WithLabelValues(op).Observe(sec)
	case *trace.Action:
		s.action(r, e)
	default:
		s.cluster(r)
	}
}

// relist counts PLEG's relists. Upstream: pkg/kubelet/pleg/generic.go, Relist.
func (s *Sink) relist(r *trace.Record) {
	begin := r.Start()
	if r.Edge == trace.EdgeEnd {
		s.plegDuration.Observe(r.Dur.Seconds())
	}
	if begin == s.lastRelist {
		return // its begin was counted already
	}
	if s.lastRelist != 0 {
		s.plegInterval.Observe(time.Duration(begin - s.lastRelist).Seconds())
	}
	s.lastRelist = begin
	s.plegLastSeen.Set(float64(time.Unix(0, begin).Unix()))
}

func (s *Sink) source(e *trace.Source) {
	if e.Op != trace.OpSet {
		return
	}
	s.desired[e.Source] = e.Pods
	static, other := 0, 0
	for source, n := range s.desired {
		if source == trace.SourceAPI {
			other += n
		} else {
			static += n
		}
	}
	s.desiredPods.WithLabelValues("true").Set(float64(static))
	s.desiredPods.WithLabelValues("").Set(float64(other))
}

// shutdown sets when the last graceful shutdown began and ended. Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go, setMetrics
// and processShutdownEvent.
func (s *Sink) shutdown(e *trace.Shutdown) {
	if !e.Started.IsZero() {
		s.shutdownStart.Set(unix(e.Started))
		s.shutdownEnd.Set(unix(e.Ended))
	}
}

// unix returns a time in seconds, 0 for none.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.Unix())
}

// evicted counts the agent's evictions. Upstream: pkg/kubelet/eviction/eviction_manager.go.
func (s *Sink) evicted(e *trace.Decision) {
	if e.Signal != "" { // "" is another kubelet's
		s.evictions.WithLabelValues(signalLabel(e.Signal)).Inc()
	}
}

// signalLabel returns upstream's label for a signal.
func signalLabel(signal trace.Signal) string {
	if label := string(signal); strings.Contains(label, ".") {
		return label
	}
	return string(signal) + ".available"
}

// decision counts images that garbage collection removed, by the decision's ground: space or age. The removal of all
// unused images on request counts as space, as in upstream.
//
// Upstream: pkg/kubelet/images/image_gc_manager.go, DeleteUnusedImages.
func (s *Sink) decision(e *trace.Decision) {
	if e.By == trace.ByAdmission && e.Verdict == trace.VerdictReject {
		s.more.rejected(e.Code)
	}
	if e.By == trace.ByEviction && e.Verdict == trace.VerdictEnd {
		s.evicted(e)
	}
	if e.By != trace.ByImageGC || e.Verdict != trace.VerdictRemove {
		return
	}
	reason := "unknown"
	switch e.Ground {
	case trace.RemovedForSpace, trace.RemovedForDisuse:
		reason = "space"
	case trace.RemovedForAge:
		reason = "age"
	}
	s.imageGC.WithLabelValues(reason).Inc()
}
