package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// askLogs asks an agent for the end of a container's log.
const askLogs = "logs"

func logArgs(pod trace.Pod, container string, previous bool) map[string]string {
	return map[string]string{"pod": pod.String(), "container": container, "previous": strconv.FormatBool(previous)}
}

// readLogs reads logs through the control socket.
func readLogs(cl *control.Client) views.LogReader {
	return func(ctx context.Context, pod trace.Pod, container string, previous bool) (tail views.LogTail, err error) {
		text, err := cl.Query(ctx, askLogs, logArgs(pod, container, previous))
		if err != nil {
			return tail, err
		}
		if err := json.Unmarshal(text, &tail); err != nil {
			return tail, fmt.Errorf("the agent's answer: %w", err)
		}
		return tail, nil
	}
}

// readLogs reads logs of the agent in this process.
func (n *node) readLogs(ctx context.Context, pod trace.Pod, container string, previous bool) (tail views.LogTail, err error) {
	value, err := n.agent.Query(ctx, askLogs, logArgs(pod, container, previous))
	if err != nil {
		return tail, err
	}
	t, ok := value.(agent.LogTail)
	if !ok {
		return tail, errors.New("the agent's answer is not a log")
	}
	return views.LogTail(t), nil
}
