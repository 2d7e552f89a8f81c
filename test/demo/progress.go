package main

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// progress folds records into how far the sample pods have come.
type progress struct {
	ready   bool
	order   []sample
	pods    map[string]*podProgress // by the name in the manifest
	recs    []trace.Record
	spanned bool  // containerd tells of its part in the start that is drawn, in no order
	told    bool  // and has, a while ago
	err     error // a pod was refused
}

type podProgress struct {
	sample
	pod     trace.Pod
	arrived bool
	gone    bool
}

func newProgress(all []sample) *progress {
	p := &progress{order: all, pods: map[string]*podProgress{}}
	for _, s := range all {
		p.pods[s.name] = &podProgress{sample: s}
	}
	return p
}

func (p *progress) apply(r *trace.Record) {
	p.recs = append(p.recs, *r)
	pod := p.pods[strings.TrimSuffix(r.Pod.Name, "-"+nodeName)]
	switch e := r.Event.(type) {
	case *trace.Agent:
		p.ready = p.ready || e.State == trace.AgentReady
	case *trace.SourceError:
		if e.Message != "" {
			p.err = fmt.Errorf("%s: %s", e.Path, e.Message)
		}
	case *trace.Decision:
		if pod != nil && e.Verdict == trace.VerdictReject {
			p.err = fmt.Errorf("%s was rejected: %s", r.Pod, e.Reason)
		}
	case *trace.RuntimeSpan:
		if pod != nil && pod.name == explained && e.Name == "runtime.v1.RuntimeService/StartContainer" {
			p.spanned = true
		}
	case *trace.Usage:
		p.told = p.spanned
	case *trace.Milestone:
		if pod == nil {
			return
		}
		pod.pod = r.Pod
		pod.arrived = pod.arrived || pod.goal == ready && e.Name == trace.MilestoneReady
		pod.gone = pod.gone || e.Name == trace.MilestoneGone
	case *trace.Wait:
		if pod != nil && pod.goal == backOff && e.For == trace.WaitBackoff {
			pod.arrived = true
		}
	case *trace.PodStatus:
		if pod != nil && pod.goal == succeeded && e.Phase == trace.PodSucceeded {
			pod.arrived = true
		}
	}
}

// arrived reports whether all pods have got where they should.
func (p *progress) arrived() bool { return p.missing() == "" }

// missing names the pods that have not.
func (p *progress) missing() string {
	var out []string
	for _, s := range p.order {
		if !p.pods[s.name].arrived {
			out = append(out, fmt.Sprintf("%s to be %s", s.name, s.goal))
		}
	}
	return strings.Join(out, ", ")
}

// gone reports whether nothing is left of any pod that was seen.
func (p *progress) gone() bool {
	for _, pod := range p.pods {
		if !pod.pod.IsZero() && !pod.gone {
			return false
		}
	}
	return true
}
