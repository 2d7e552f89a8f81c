package trace

// WithoutBodies returns an event without request and response of a runtime call: the event itself if it has none,
// otherwise a copy.
func WithoutBodies(e Event) Event {
	call, ok := e.(*CRICall)
	if !ok || call.Request.IsZero() && call.Response.IsZero() {
		return e
	}
	c := *call
	c.Request, c.Response = Body{}, Body{}
	return &c
}
