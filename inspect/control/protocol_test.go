package control

import (
	"bytes"
	"strings"
	"testing"
)

func TestDecodeRequest(t *testing.T) {
	for in, want := range map[string]string{
		`{"events":{"follow":true}}`:                                     "",
		`{"events":{"backlog":true,"kinds":["pod.status"],"pod":"a/b"}}`: "",
		`{"query":{"what":"config"}}`:                                    "",
		`{"step":{"pod":"a/b","deletion":true}}`:                         "",
		``:                                                               "EOF",
		`{}`:                                                             "one of the fields",
		`[]`:                                                             "cannot unmarshal",
		`null`:                                                           "one of the fields",
		`{"events":{"follow":true},"query":{"what":"x"}}`: "one of the fields",
		`{"events":{}}`: "must be backlog, follow or both",
		`{"events":{"follow":true,"kinds":["nothing"]}}`:                   `unknown kind "nothing": must be one of agent,`,
		`{"events":{"follow":true,"pod":"b"}}`:                             `"b" is not NAMESPACE/NAME`,
		`{"events":{"folow":true}}`:                                        `unknown field "folow"`,
		`{"query":{"what":""}}`:                                            "query.what is empty",
		`{"step":{"pod":"a/b","creation":true,"deletion":true}}`:           "must be creation, deletion, or",
		`{"step":{"pod":"a/b/c"}}`:                                         "step.pod",
		`{"step":{"pod":"a/b"}} {"step":{"pod":"a/b"}}`:                    "more than one object",
		strings.Repeat(`{"query":{"args":`, 1000) + strings.Repeat("}", 1): "request:",
	} {
		_, err := decodeRequest([]byte(in))
		if got := text(err); (want == "") != (err == nil) || !strings.Contains(got, want) {
			t.Errorf("%.80s: %q, want %q", in, got, want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// FuzzDecode checks that accepted requests are complete.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"events":{"backlog":true,"follow":true,"kinds":["pod.status"],"pod":"a/b"}}`, `{"query":{"what":"config","args":{"a":"b"}}}`,
		`{"step":{"pod":"a/b"}}`, `{"id":1,"line":"n"}`, `{"record":{}}`, `{"lost":3}`, `{"error":"x"}`, `{"stop":{"Pod":{}}}`, `{"live":0}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if r, err := decodeRequest(in); err == nil {
			if again := r.check(); again != nil {
				t.Errorf("taken, but %v", again)
			}
		}
		decodeCommand(in)             // it must not panic
		(&line{path: "x"}).decode(in) // the same
	})
}

// FuzzClient reads any output of a listener at the socket: as a stream, and as answers.
func FuzzClient(f *testing.F) {
	for _, s := range []string{
		`{"record":{"seq":1,"time":"2026-03-01T12:00:00.000000000Z","kind":"log","event":{"message":"x"}}}` + "\n" + `{"live":1}` + "\n" + `{"end":"done"}`,
		`{"lost":18446744073709551615}` + "\n" + `{"lost":1}` + "\n" + `{"record":null}`, `{"record":{}}`, "{\"record\":\n", `{"record":`, "\n\n",
		`{"stop":{"Pod":{}}}`, `{"reply":{"id":1,"text":"x"}}`, `{"error":"\u001b[2J"}`, strings.Repeat(`{"record":[`, 20000), strings.Repeat("[", 100000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := &Stream{line: &line{path: "x", r: newLineReader(bytes.NewReader(in), maxRequest)}, done: func() {}}
		lines := bytes.Count(in, []byte("\n")) + 2
		for range lines {
			recs, _, err := s.Next(t.Context(), nil)
			for i := range recs {
				if recs[i].Event == nil {
					t.Errorf("a record without an event from %q", in)
				}
			}
			if err != nil {
				break
			}
		}
		l := &line{path: "x", r: newLineReader(bytes.NewReader(in), maxRequest)}
		for range lines {
			if _, err := l.answer(t.Context()); err != nil {
				break
			}
		}
	})
}
