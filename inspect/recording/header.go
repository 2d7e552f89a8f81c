package recording

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Header describes a session, or a part of one.
type Header struct {
	// Created is when the session began to be recorded.
	Created time.Time `json:"created"`
	// Node is the node's name, Kubeloupe the version of the writer.
	Node      string `json:"node,omitempty"`
	Kubeloupe string `json:"kubeloupe,omitempty"`
	// Recording identifies the recording; all its parts and sessions have the same.
	Recording string `json:"recording"`
	// Part numbers the files of a recording from 1.
	Part int `json:"part"`
	// Continues says that the session began in an earlier part.
	Continues bool `json:"continues,omitempty"`
	// Before is the content of earlier parts.
	Before Count `json:"before,omitzero"`
	// Cut is what was cut off the end of the file when this session began: an incomplete frame.
	Cut Cut `json:"cut,omitzero"`
}

// Count is the number of records, and of lost ones.
type Count struct {
	Records uint64 `json:"records,omitempty"`
	Lost    uint64 `json:"lost,omitempty"`
}

// Cut is what an incomplete frame lost.
type Cut struct {
	Bytes   int64  `json:"bytes,omitempty"`
	Records uint64 `json:"records,omitempty"`
}

func newRecording() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// frame returns the header as a frame.
func (h *Header) frame() ([]byte, error) {
	p, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	n := uint32(len(p))
	f := head{kind: frameSession, stored: n, raw: n, first: h.Created.UnixNano(), last: h.Created.UnixNano(), sum: castagnoli(p)}
	return append(f.append(nil), p...), nil
}

func parseHeader(p []byte) (Header, error) {
	var h Header
	if err := json.Unmarshal(p, &h); err != nil {
		return Header{}, fmt.Errorf("header of a session: %w", err)
	}
	return h, nil
}
