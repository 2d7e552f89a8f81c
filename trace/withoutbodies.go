package trace

// WithoutBodies returns an event without what a call to the runtime was asked and answered: the event itself where it has none of that,
// else a copy.
func WithoutBodies(e Event) Event {
	call, ok := e.(*CRICall)
	if !ok || call.Request.IsZero() && call.Response.IsZero() {
		return e
	}
	c := *call
	c.Request, c.Response = Body{}, Body{}
	return &c
}
