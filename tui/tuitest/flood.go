package tuitest

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Flood is a busy node: 30 pods that are synced all the time, at about so many
// records a second.
func Flood(perSecond, seconds int) []trace.Record {
	s := &Script{}
	n := &nodeScript{Script: s}
	s.Point(0, Span{}, &trace.Agent{State: trace.AgentReady, Node: "flood", Runtime: "containerd", RuntimeVersion: "2.4.2"})
	const perTurn = 12 // records that one turn below makes
	turns := perSecond * seconds / perTurn
	gap := time.Duration(seconds) * time.Second / time.Duration(max(turns, 1))
	var keys []trace.Pod
	for i := range 30 {
		keys = append(keys, n.key("flood", fmt.Sprintf("pod-%02d", i)))
	}
	for i := range turns {
		key, at := keys[i%len(keys)], time.Duration(i)*gap
		loop := n.loop(at, trace.Loop{Case: trace.LoopPLEG, Pods: 1})
		sync := n.Begin(at+ms, loop.Of(key), &trace.Sync{Why: trace.SyncAgain, Cause: "ContainerStarted", N: i + 1})
		n.action(at+ms, at+40*ms, sync, trace.Action{ID: "start main", Verb: trace.VerbStart, Container: "main"}, trace.CRICall{Method: "StartContainer", Container: fmt.Sprintf("c%063d", i)})
		n.Both(at+40*ms, at+41*ms, sync, &trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetOther, Name: "a place among 4 runtime calls"}})
		n.End(at+50*ms, sync, &trace.Sync{Why: trace.SyncAgain, Cause: "ContainerStarted", N: i + 1})
		n.Point(at+51*ms, loop.Of(key), &trace.PodStatus{Phase: trace.PodRunning, Ready: i % 2, Total: 1, Restarts: i / 100})
		n.Point(at+52*ms, loop.Of(key), &trace.NodeEvent{Type: trace.EventNormal, Reason: "Started", Message: fmt.Sprintf("Container started, %d", i)})
	}
	return s.Records()
}
