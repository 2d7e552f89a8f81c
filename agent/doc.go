// Package agent assembles the node agent from its parts and runs them.
//
// It owns the order of start and end, and the wiring; every part is a package
// beside it. It holds no behavior of its own: whoever looks for what the agent does with a pod finds
// it in agent/pods, agent/worker and agent/podruntime.
//
// It runs one goroutine per part while Run runs. It publishes Agent.
package agent
