package cause

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func volumeWait() Rule {
	return Rule{
		ID: "KL10", Name: "volume wait",
		About: "A volume was not there yet: it had to be attached to the node, the CSI driver or a mount took its time, another operation worked on the " +
			"same volume, another pod had it with another SELinux label, or an attempt failed and the next one had to wait. It is reported when that took 10 ms and 5 % of the critical path or more. " +
			"Where nothing else shows the volumes, Events of the API server do: from the first failure to the last. " +
			"Changes of ownership are KL09's, objects of the API server KL11's, client throttling KL12's.",
		Find: findVolumeWait,
	}
}

// storage reports whether a plugin brings storage. The others show objects, or images, which are pulls.
func storage(plugin string) bool {
	return plugin != "" && !objectPlugin(plugin) && plugin != "kubernetes.io/image"
}

// volumeHoldups are the set-ups of storage and the waits for them.
func (c *Case) volumeHoldups() (out []holdup) {
	volumes := ownSpans[*trace.Volume](c)
	plugins := map[string]string{}
	for i := range volumes {
		v := &volumes[i]
		plugins[v.Event.Name] = v.Event.Plugin
		if v.Event.Op != trace.VolumeSetup || !storage(v.Event.Plugin) {
			continue
		}
		what, ev := c.setUp(v)
		out = append(out, holdup{at: c.on(v.ID(), v.Start, v.Stop), what: what, evidence: ev, open: v.Open, class: v.Event.Class, plugin: v.Event.Plugin})
	}
	out = append(out, c.missedVolumes()...)
	waits := ownSpans[*trace.Wait](c)
	for i := range waits {
		w := &waits[i]
		if what := c.volumeWait(w, plugins); what != "" {
			out = append(out, holdup{
				at: c.on(w.ID(), w.Start, w.Stop), what: what, evidence: waitEvidence(w), open: w.Open, target: w.Event.Target.Kind, wait: w.Event.For, plugin: c.pluginOf(w, plugins),
			})
		}
	}
	return out
}

// missedVolumes are the pod's tries to have its volumes that ran into their deadline, and the one that follows, where no volume failed: they
// did not come, and upstream's kubelet does not log that it waits for an attachment.
func (c *Case) missedVolumes() (out []holdup) {
	volumes, actions := ownSpans[*trace.Volume](c), ownSpans[*trace.Action](c)
	if slices.ContainsFunc(volumes, func(v Span[*trace.Volume]) bool { return v.Err() != "" }) {
		return nil
	}
	what := ""
	for i := range actions {
		a := &actions[i]
		if a.Event.Verb != trace.VerbVolumes {
			continue
		}
		if a.Event.Class == trace.FailDeadline {
			what = "its volumes: " + quoted(a.Err())
		}
		if what != "" && (a.Open || a.Err() != "") {
			out = append(out, holdup{
				at: c.on(a.ID(), a.Start, a.Stop), what: what, evidence: evidence(a.Rec(), "volumes: %s; %s", took(a.Dur(), a.Open), quoted(a.Err())), open: a.Open,
			})
		}
	}
	return out
}

// volumeWait says what a wait outside a set-up was for; "" where it was not for storage.
func (c *Case) volumeWait(w *Span[*trace.Wait], plugins map[string]string) string {
	e := w.Event
	name, about := e.Target.Name, e.Target.Kind == trace.TargetVolume
	switch {
	case e.For == trace.WaitAttach, e.For == trace.WaitLabel, e.For == trace.WaitLock && about && !objectPlugin(plugins[name]):
		if why := detail(w); why != "" {
			return say.On(e) + ": " + quoted(why)
		}
		return say.On(e)
	case e.For != trace.WaitBackoff:
	case about && storage(plugins[name]):
		return "the retry with " + say.On(e) + ": " + quoted(detail(w))
	case !about:
		a := c.failedAction(w)
		if a == nil || a.Event.Verb != trace.VerbVolumes {
			return ""
		}
		if v := c.failedVolume(w, func(*trace.Volume) bool { return true }); v != nil && storage(v.Event.Plugin) {
			return "the retry: " + quoted(v.Err())
		} else if v == nil && a.Event.Class == trace.FailDeadline { // nothing failed: they did not come
			return "its volumes: " + quoted(a.Err())
		}
	}
	return ""
}

// setUp says what of a set-up took longest: a call to the driver, a wait, or the plugin itself.
func (c *Case) setUp(v *Span[*trace.Volume]) (what string, ev Evidence) {
	ups := c.parents()
	what = fmt.Sprintf("the set-up of volume %s (%s)", v.Event.Name, v.Event.Plugin)
	text := fmt.Sprintf("set-up of volume %s (%s): %s", v.Event.Name, v.Event.Plugin, took(v.Dur(), v.Open))
	if err := v.Err(); err != "" {
		text += "; " + quoted(err)
	}
	best, ev := v.Dur()/2, evidence(v.Rec(), "%s", text)
	calls := ownSpans[*trace.CSICall](c)
	for i := range calls {
		k := &calls[i]
		if k.Dur() < best || !within(ups, k.ID(), v.ID()) {
			continue
		}
		best = k.Dur()
		kind := "CSI driver"
		switch {
		case k.Event.Flex:
			kind = "flexvolume driver"
		case k.Event.Program:
			kind = "program"
		}
		what = fmt.Sprintf("%s of the %s %s for volume %s", k.Event.Method, kind, k.Event.Driver, v.Event.Name)
		text = fmt.Sprintf("%s of %s: %s", k.Event.Method, k.Event.Driver, took(k.Dur(), k.Open))
		if err := k.Err(); err != "" {
			text += "; " + quoted(err)
		}
		ev = evidence(k.Rec(), "%s", text)
	}
	return what, ev
}

func findVolumeWait(c *Case) []Finding {
	told, events := c.eventHoldups("")
	all := append(c.volumeHoldups(), told...)
	var others []stretch
	chowns := c.chowns()
	for i := range chowns {
		others = append(others, chowns[i].at...)
	}
	others = append(others, stretches(c.objectHoldups())...)
	others = append(others, stretches(c.throttled())...)
	cost := coveredBut(stretches(all), others)
	open := openOf(all) && !c.up()
	if len(all) == 0 || cost == 0 && !(open && len(others) == 0) || !c.fails(cost, open) {
		return nil
	}
	own := func(h *holdup) time.Duration { return coveredBut(h.at, others) }
	long := mostly(all, own)
	f := Finding{Confidence: Certain, Cost: cost, Current: open}
	f.Sentence = fmt.Sprintf("it waited %s for %s", took(cost, open), cmp.Or(long.what, "a volume"))
	if part := own(long); 10*part < 9*cost {
		f.Sentence += fmt.Sprintf(" (%s of it)", human.Duration(part))
	}
	for i := range all[:len(all)-len(told)] {
		if own(&all[i]) > 0 || all[i].open {
			f.Evidence = append(f.Evidence, all[i].evidence)
		}
	}
	f.Evidence = few(append(f.Evidence, events...))
	f.Remedy = volumeRemedy(long)
	f.RuledOutBy = "The same volume can be attached and mounted at once, manually or for another pod, on this node at that time."
	return []Finding{f}
}

// pluginOf is the plugin of the volume that a wait outside a set-up was for; "" where it is not known, or the node does not attach it itself.
func (c *Case) pluginOf(w *Span[*trace.Wait], plugins map[string]string) string {
	switch {
	case w.Event.For == trace.WaitAttach:
		return ""
	case w.Event.Target.Kind == trace.TargetVolume:
		return plugins[w.Event.Target.Name]
	}
	if v := c.failedVolume(w, func(*trace.Volume) bool { return true }); v != nil {
		return v.Event.Plugin
	}
	return ""
}

// volumeRemedy is what to do about a volume that held a pod up, by its plugin.
func volumeRemedy(h *holdup) string {
	if h.wait == trace.WaitLabel {
		return "Give the pods that share the volume on a node the same SELinux label (securityContext.seLinuxOptions.level), or all of them " +
			"securityContext.seLinuxChangePolicy: Recursive; or let them run on different nodes, or one after the other."
	}
	switch h.plugin {
	case "kubernetes.io/host-path", "kubernetes.io/local-volume":
		return "Look at the path on the node (ls -ld PATH; findmnt -T PATH): type Directory, File, Socket and the like need it to exist, DirectoryOrCreate and FileOrCreate " +
			"make it; a local volume's path must be there before its pods."
	case "kubernetes.io/nfs":
		return "Look at the server of the mount: mount it by hand on this node (mount -t nfs SERVER:PATH /mnt), showmount -e SERVER, and the node's kernel log (dmesg)."
	case "kubernetes.io/iscsi":
		return "Look at the target: iscsiadm must be installed and iscsid run on this node; run iscsiadm -m session -P 3, iscsiadm -m discovery -t sendtargets -p PORTAL, and see " +
			"the node's kernel log (dmesg), the target's access list and the Secret of CHAP."
	case "kubernetes.io/fc":
		return "Look at the disk on the node: ls -l /dev/disk/by-path /dev/disk/by-id, cat /sys/class/fc_host/*/port_state, multipath -ll, the kernel log (dmesg), and the zoning of the network."
	case "kubernetes.io/empty-dir":
		return "Look at the node's disk (df, iostat -x 1), and at the memory or hugepages that the volume's medium needs."
	}
	return "Look at what the pod waits for: the attach-detach controller (kubectl get volumeattachment; kubectl describe pv), the CSI driver's own log " +
		"(kubectl logs -n NAMESPACE DRIVER-POD -c DRIVER), or the server of the mount."
}

// mostly is what took longest. Of a set-up and a wait that makes up half of it, the wait says more: it comes later.
func mostly(all []holdup, cost func(*holdup) time.Duration) *holdup {
	var most time.Duration
	for i := range all {
		most = max(most, cost(&all[i]))
	}
	long := &all[0]
	for i := range all {
		if 2*cost(&all[i]) >= most {
			long = &all[i]
		}
	}
	return long
}
