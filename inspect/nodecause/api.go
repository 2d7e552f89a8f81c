package nodecause

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

const (
	// leaseLate is the age of a lease whose renewal is late: a kubelet renews it each quarter of its 40 s.
	leaseLate = 20 * time.Second
	// LeaseOver is the age of a lease that has ended: the control plane treats the node as unknown soon after (node-monitor-grace-period, 50 s).
	LeaseOver = 40 * time.Second
	// failsFor is how long the API server fails until that is no restart of it.
	failsFor = 5 * time.Second
)

func apiServer() Rule {
	return Rule{
		ID: "KN02", Name: "API server unavailable",
		About: "All requests to the API server have failed for 5 s or more: no answer, 429 or 5xx. The node then receives no new pods and reports no " +
			"status, and its lease is not renewed: after 40 s without a renewal the control plane treats it as unknown. The pods continue to run.",
		find: findAPI,
	}
}

func findAPI(in *Input, _ []cause.Finding) []cause.Finding {
	a, n := in.Model.API(), in.Model.NodeObject()
	since := in.Now.Sub(a.Since)
	if a.Failing == 0 || since < failsFor {
		return nil
	}
	f := cause.Finding{Confidence: cause.Certain, Current: true, Cost: since}
	f.Evidence = shown(a.Seq, a.Failed, "%s failed, the last of %d failures in a row: %s", a.Call, a.Failing, human.Line(a.Err))
	f.Sentence = fmt.Sprintf("the API server has not answered for %s, %s failed in a row: %s", human.Duration(since), count(a.Failing, "request"), human.Line(a.Err))
	if old := in.Now.Sub(n.Lease); !n.Lease.IsZero() && old > leaseLate {
		f.Sentence += "; the lease was last renewed " + human.Duration(old) + " ago" + unknownAfter(old)
		f.Evidence = append(f.Evidence, shown(n.LeaseSeq, n.Lease, "the lease was renewed, the last time")...)
	}
	f.Remedy = "Try the address of the kubeconfig from this node (curl -k https://ADDRESS/livez): a refused connection is the API server or its load balancer, a timeout is the network, a TLS error is a certificate."
	f.RuledOutBy = "kubectl get --raw /livez with the kubelet's kubeconfig answers ok on this node."
	return []cause.Finding{f}
}

func lease() Rule {
	return Rule{
		ID: "KN03", Name: "lease late",
		About: "The node's lease was not renewed for 20 s or more, although the API server answers: a renewal fails (not authorized, not found, conflict), or " +
			"the agent is late. After 40 s without a renewal the control plane treats the node as unknown. Where the API server is unavailable, KN02 says so.",
		find: findLease,
	}
}

func findLease(in *Input, others []cause.Finding) []cause.Finding {
	n := in.Model.NodeObject()
	old := in.Now.Sub(n.Lease)
	never := n.Lease.IsZero() && n.LeaseErr != ""
	if has(others, "KN02") || !never && (n.Lease.IsZero() || old < leaseLate) {
		return nil
	}
	f := cause.Finding{Confidence: cause.Likely, Current: true, Cost: old}
	f.Sentence = "the node's lease was last renewed " + human.Duration(old) + " ago" + unknownAfter(old)
	f.Evidence = shown(n.LeaseSeq, n.Lease, "the last record about the lease; it was renewed at this time")
	f.Remedy = "See whether the agent itself is slow (KL16, KL23), and what its requests do: kubeloupe inspect node, kubeloupe events --kind api.call."
	if n.LeaseErr != "" {
		f.Confidence = cause.Certain
		f.Remedy = "The error says what the API server refuses: the node's certificate needs the group system:nodes and the name system:node:NAME, and the namespace kube-node-lease must exist."
	}
	if never {
		at := in.Model.Node().Last
		f.Cost, f.Sentence = 0, "the node's lease was never renewed"
		f.Evidence = shown(n.LeaseSeq, at, "the last attempt failed: %s", human.Line(n.LeaseErr))
	}
	if n.LeaseErr != "" {
		f.Sentence += ": " + human.Line(n.LeaseErr)
	}
	f.RuledOutBy = "kubectl get lease -n kube-node-lease shows a renewTime of the last 10 s: then another program renews it."
	return []cause.Finding{f}
}

// unknownAfter says what the control plane does about a lease that is that old.
func unknownAfter(old time.Duration) string {
	if old < LeaseOver {
		return ""
	}
	return ", and the control plane treats the node as unknown"
}

// count is "1 request" or "3 requests".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
