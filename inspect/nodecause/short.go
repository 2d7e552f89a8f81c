package nodecause

import (
	"fmt"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func short() Rule {
	return Rule{
		ID: "KN05", Name: "short of memory, disk or processes",
		About: "The node has less free memory, disk space or process ids than its threshold (evictionHard), or its condition MemoryPressure, DiskPressure or " +
			"PIDPressure is True. It then has a taint, and new pods that do not tolerate it are refused.",
		find: findShort,
	}
}

// kind is a sort of pressure that a node reports.
type kind struct {
	condition string
	signals   []trace.Signal
	remedy    string
}

func kinds() []kind {
	return []kind{
		{"MemoryPressure", []trace.Signal{trace.SignalMemory, trace.SignalAllocatable}, "See what uses the memory (systemd-cgtop -m, kubectl top pods); set requests and limits, reserve memory for the system (systemReserved), or give the node more."},
		{"DiskPressure", []trace.Signal{
			trace.SignalNodeFS, trace.SignalNodeFSInodes, trace.SignalImageFS, trace.SignalImageFSInodes, trace.SignalContainerFS, trace.SignalContainerFSInodes,
		}, "See what uses the disk (du -xsh /var/lib/kubelet /var/lib/containerd /var/log; crictl images): remove images that no pod uses (crictl rmi --prune), limit emptyDir volumes and logs (ephemeral-storage limits, containerLogMaxSize), or give it more."},
		{"PIDPressure", []trace.Signal{trace.SignalPID}, "See what has so many processes (systemd-cgtop, ps -eLf); limit the processes of pods (podPidsLimit), or raise kernel.pid_max."},
	}
}

func findShort(in *Input, _ []cause.Finding) (out []cause.Finding) {
	conditions, usage := in.Model.NodeConditions(), in.Model.Pressure()
	for _, k := range kinds() {
		f := cause.Finding{Confidence: cause.Certain, Remedy: k.remedy}
		for i := range usage {
			if p := &usage[i]; slices.Contains(k.signals, p.Signal) && below(p) {
				f.Current = true
				f.Sentence = fmt.Sprintf("the node is short of %s: %s", p.Signal, Room(p))
				f.Evidence = append(f.Evidence, shown(p.Seq, p.At, "%s: %s; %s", p.Signal, Room(p), say.Thresholds(p.Signal, p.Thresholds))...)
			}
		}
		if i := slices.IndexFunc(conditions, func(c model.Condition) bool { return c.Type == k.condition && c.Status == "True" }); i >= 0 {
			c := &conditions[i]
			f.Cost = in.Now.Sub(c.At)
			f.Evidence = append(f.Evidence, shown(c.Seq, c.At, "the condition %s was written as True%s", c.Type, because(c.Reason))...)
			if f.Sentence == "" { // it stays True for some minutes after the shortage
				f.Current = true
				f.Sentence = fmt.Sprintf("the node's condition %s is True%s", c.Type, because(c.Reason))
			}
		}
		if f.Sentence != "" {
			f.RuledOutBy = "free and df show much more room than the threshold (evictionHard): then the figures, or the threshold, are wrong."
			out = append(out, f)
		}
	}
	return out
}

// below reports whether there is less free than a threshold of pressure.
func below(p *model.Pressure) bool {
	return slices.ContainsFunc(p.Thresholds, func(t trace.Threshold) bool {
		most, known := t.Used(p.Capacity)
		return t.Kind == trace.ThresholdPressure && known && p.Used > most
	})
}

// Threshold is the threshold of a resource below which the node is under pressure; "" if it has none.
func Threshold(p *model.Pressure) string {
	return say.Thresholds(p.Signal, slices.DeleteFunc(slices.Clone(p.Thresholds), func(t trace.Threshold) bool { return t.Kind != trace.ThresholdPressure }))
}

// Room says how much of a resource is free: "120 MiB of 4.0 GiB are free".
func Room(p *model.Pressure) string {
	return say.Amount(p.Signal, max(p.Capacity-p.Used, 0)) + " of " + say.Amount(p.Signal, p.Capacity) + " are free"
}
