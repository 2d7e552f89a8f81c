package logs

import (
	"bytes"
	"encoding/json"
	"time"
)

// maxDocker is how much of an entry in Docker's format is kept until it is complete, in bytes. Docker splits a container's lines into
// entries of 16 KiB, of which each byte may be six in JSON. A longer entry is omitted.
const maxDocker = 128 << 10

// parseDocker decodes an entry in Docker's JSON format, which is that of the logs that cri-dockerd names:
//
//	{"log":"text\n","stream":"stdout","time":"2016-10-20T18:39:20.57606443Z"}
//
// Upstream: cri-client/pkg/logs, parseDockerJSONLog.
func parseDocker(entry []byte) (line, error) {
	var e struct {
		Log    string    `json:"log"`
		Stream string    `json:"stream"`
		Time   time.Time `json:"time"`
	}
	if err := json.Unmarshal(entry, &e); err != nil {
		return line{}, err
	}
	stderr, err := isStderr(e.Stream)
	if err != nil {
		return line{}, err
	}
	return line{at: e.Time, stderr: stderr, text: []byte(e.Log)}, nil
}

// beginsDocker reports whether an entry begins as Docker writes it.
func beginsDocker(entry []byte) bool { return bytes.HasPrefix(entry, []byte(`{"log":"`)) }
