package shutdown

import (
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/trace"
)

// StateFile is the name of the state file in the agent's root directory.
//
// Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager.go, localStorageStateFile; storage.go.
const StateFile = "graceful_node_shutdown_state"

// state is the content of the state file, as upstream writes it.
type state struct {
	StartTime time.Time `json:"startTime"`
	EndTime   time.Time `json:"endTime"`
}

// remember writes the state file: the machine is about to go down, and the next start of the agent tells what happened.
func (m *Manager) remember(began, ended time.Time) {
	if m.cfg.StateFile == "" {
		return
	}
	text, err := json.Marshal(state{StartTime: began, EndTime: ended})
	if err == nil {
		err = wholefile.Write(m.cfg.StateFile, text, 0o644)
	}
	if err != nil {
		m.warn("the state of the shutdown cannot be written", err)
	}
}

// tellLast publishes the shutdown in the state file, if there is one. Root and the agent write the file.
func (m *Manager) tellLast() {
	if m.cfg.StateFile == "" {
		return
	}
	var s state
	text, err := wholefile.Read(m.cfg.StateFile, wholefile.Small)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		m.warn("the state of the last shutdown cannot be read", err)
		return
	}
	if !s.StartTime.IsZero() {
		m.say(trace.Shutdown{State: trace.ShutdownLast, Started: s.StartTime, Ended: s.EndTime})
	}
}
