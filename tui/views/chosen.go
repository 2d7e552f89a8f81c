package views

import "github.com/kubeloupe/kubeloupe/trace"

// Chooser is a page on which a pod can be selected, so that it stays selected in the next view.
type Chooser interface {
	// ChosenPod is the selected pod; zero if the user has selected none.
	ChosenPod() trace.Pod
	// ChoosePod selects a pod, if the page has it.
	ChoosePod(trace.Pod) bool
}

// ChosenPod implements Chooser.
func (l *list[R]) ChosenPod() (pod trace.Pod) {
	if row, ok := l.tbl.Selected(); ok && l.pod != nil && !l.tbl.Following() {
		return l.pod(row)
	}
	return pod
}

// ChoosePod implements Chooser.
func (l *list[R]) ChoosePod(pod trace.Pod) bool {
	if l.pod == nil {
		return false
	}
	if row, ok := l.tbl.Selected(); ok && l.pod(row) == pod { // it may have several rows
		return true
	}
	return l.tbl.SelectWhere(func(r R) bool { return l.pod(r) == pod })
}

// ChosenPod implements Chooser: on this page the first pod is selected, too.
func (p *Pods) ChosenPod() (pod trace.Pod) {
	if row, ok := p.tbl.Selected(); ok {
		return row.Key
	}
	return pod
}

// ChosenPod implements Chooser.
func (p *Pod) ChosenPod() trace.Pod { return p.chosen }

// ChoosePod implements Chooser.
func (p *Pod) ChoosePod(pod trace.Pod) bool {
	if p.chosen != pod {
		p.Show(pod)
	}
	return true
}

// ChosenPod implements Chooser.
func (p *Status) ChosenPod() trace.Pod { return p.pods.ChosenPod() }

// ChoosePod implements Chooser.
func (p *Status) ChoosePod(pod trace.Pod) bool { return p.pods.ChoosePod(pod) }

// ChosenPod implements Chooser.
func (p *Overview) ChosenPod() (pod trace.Pod) {
	if p.sel == "" || p.cur >= len(p.items) || p.items[p.cur].open == nil {
		return pod
	}
	if o, ok := p.items[p.cur].open().(OpenPod); ok {
		return o.Pod
	}
	return pod
}

// ChoosePod implements Chooser: the overview keeps its own cursor.
func (*Overview) ChoosePod(trace.Pod) bool { return false }

// Current is the pod that is shown, the zero pod if none is.
func (p *Pod) Current() trace.Pod { return p.pod.Key }
