package kernel

import (
	"context"

	"github.com/kubeloupe/kubeloupe/inspect/otlp/plugins"
	"github.com/kubeloupe/kubeloupe/trace"
)

// networks watches the runs of CNI plugins.
func (k *Kernel) networks(ctx context.Context) error {
	return k.programs(ctx, "CNI plugins", plugins.Config{Dirs: k.cfg.CNI, Runtime: k.cfg.Runtime, Done: k.ranCNI})
}

// providers watches the runs of exec credential providers, which the kubelet itself starts.
func (k *Kernel) providers(ctx context.Context) error {
	if k.cfg.Credentials == "" {
		return nil
	}
	return k.programs(ctx, "credential providers", plugins.Config{Dirs: []string{k.cfg.Credentials}, PID: k.cfg.Kubelet, Silent: true, Done: k.ranProvider})
}

// ranProvider tells of a run as of a wait for it. For which pull it was, others know: the program's input and environment are not read.
func (k *Kernel) ranProvider(e plugins.Exec) {
	k.put(trace.Record{
		Time: e.Start.Add(e.Dur).UnixNano(), Edge: trace.EdgeEnd, Dur: e.Dur, Span: e.ID, Precision: trace.PrecisionOf(plugins.Precision),
		Event: &trace.Wait{For: trace.WaitCredentials, Target: trace.Target{Kind: trace.TargetProvider, Name: trace.Clip(e.Plugin, maxPlugin)}},
	})
}

// maxPlugin bounds a program's name.
const maxPlugin = 255

// programs watches the runs of programs, where that is possible.
func (k *Kernel) programs(ctx context.Context, what string, cfg plugins.Config) error {
	if len(cfg.Dirs) == 0 {
		return nil
	}
	w, err := plugins.New(cfg)
	if err == nil {
		err = w.Run(ctx)
	}
	if err != nil {
		k.cfg.Say("runs of " + what + " are not seen: " + err.Error())
	}
	return nil
}

// ranCNI tells of a run. Which call of the runtime it is part of, others know.
func (k *Kernel) ranCNI(e plugins.Exec) {
	if e.Pod.Name == "" {
		return
	}
	event := e.Event()
	k.put(trace.Record{
		Time: e.Start.Add(e.Dur).UnixNano(), Span: e.ID, Parent: e.Parent, Pod: e.Pod, Precision: trace.PrecisionOf(plugins.Precision), Event: &event,
	})
}
