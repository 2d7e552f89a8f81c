package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// claimsOf has a row for each ResourceClaim that pods of this node use, or cannot use.
func claimsOf(r *model.Resources, args Args) *Table {
	t := &Table{Key: "claims", Title: "ResourceClaims", Columns: []Column{
		{Name: "CLAIM", Key: "claim", Ends: true},
		{Key: "uid"},
		{Name: "STATE", Key: "state"},
		{Name: "SINCE", Key: "since", Right: true, Drop: 2},
		{Name: "DRIVERS", Key: "drivers", Drop: 1},
		{Name: "DEVICES", Key: "devices", Long: true},
		{Key: "device_count"},
		{Name: "UNHEALTHY", Key: "unhealthy", Right: true},
		{Name: "PODS", Key: "pods", Long: true},
		{Key: "pod_count"},
		{Key: "fault"},
		{Key: "fault_driver"},
		{Name: "ERROR", Key: "error", Long: true, Below: true},
	}}
	for _, c := range r.Claims {
		if !args.wantsClaim(c) {
			continue
		}
		unhealthy := Value{}
		if n, _ := c.Unhealthy(); c.State != trace.ClaimListed { // of which it is not known
			unhealthy = count(n)
		}
		t.add(str(c.String()), str(c.UID), str(string(c.State)), ago(c.Since, args.Now), nameList(c.Drivers), claimDevices(c), count(c.Count), unhealthy, claimPods(c),
			count(c.Users), str(string(c.Fault)), str(c.FaultDriver), text(c.Err))
	}
	return t
}

// wantsClaim reports whether a claim is one of those that were requested: one of their pods is.
func (a Args) wantsClaim(c *model.Claim) bool {
	for i := range c.Pods {
		if a.wants(c.Pods[i].Pod) {
			return true
		}
	}
	return len(c.Pods) == 0 && a.Pod == "" && a.Selects == nil && (a.Namespace == "" || a.Namespace == c.Namespace)
}

func nameList(of []string) Value {
	if len(of) == 0 {
		return Value{}
	}
	return Value{human.Line(strings.Join(of, ",")), of}
}

// claimDevices are the first devices of a claim: in text their names, in JSON with their names for the runtime and their health.
func claimDevices(c *model.Claim) Value {
	var texts []string
	var data []any
	for i := range c.Devices {
		d := &c.Devices[i]
		texts = append(texts, d.Pool+"/"+d.Device)
		one := map[string]any{"driver": d.Driver, "pool": d.Pool, "device": d.Device}
		for key, value := range map[string]string{"share": d.Share, "health": string(d.Health), "message": d.Message} {
			if value != "" {
				one[key] = value
			}
		}
		for key, list := range map[string][]string{"requests": d.Requests, "cdi": d.CDI} {
			if len(list) > 0 {
				one[key] = list
			}
		}
		data = append(data, one)
	}
	return some(texts, data, c.Count)
}

// claimPods are the first pods that use a claim, with their containers.
func claimPods(c *model.Claim) Value {
	var texts []string
	var data []any
	for i := range c.Pods {
		p := &c.Pods[i]
		pod := podName(p)
		text := pod
		if len(p.Containers) > 0 {
			text += "/" + strings.Join(p.Containers, "+")
		}
		texts = append(texts, text)
		one := map[string]any{"pod": pod}
		if p.Pod.UID != "" {
			one["uid"] = p.Pod.UID
		}
		if len(p.Containers) > 0 {
			one["containers"] = p.Containers
		}
		data = append(data, one)
	}
	return some(texts, data, c.Users)
}

// podName is a pod's namespace and name; its UID if it is not known any more.
func podName(p *trace.ClaimPod) string {
	if p.Pod.Name == "" {
		return cmp.Or(p.Pod.UID, p.Pod.Namespace)
	}
	return p.Pod.String()
}

// some is a list of which only the first are known.
func some(texts []string, data []any, all int) Value {
	if len(texts) == 0 {
		return Value{}
	}
	text := strings.Join(texts, ", ")
	if more := all - len(texts); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return Value{human.Line(text), data}
}
