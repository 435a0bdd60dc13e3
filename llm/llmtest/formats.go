package llmtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// object is a JSON object on its way out.
type object map[string]any

// anthropic is the format of Anthropic's Messages.
type anthropic struct{}

func (anthropic) events(s Step, model string) []string {
	u := s.usage()
	message := object{"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []object{}, "stop_reason": nil}
	end := object{"type": "message_delta", "delta": object{"stop_reason": anthropicStop(s), "stop_sequence": nil}}
	if !s.Quiet {
		message["usage"] = object{
			"input_tokens": u.Input, "output_tokens": 1,
			"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
		}
		end["usage"] = object{"output_tokens": u.Output}
	}
	events := []string{event("message_start", object{"type": "message_start", "message": message}), anthropic{}.life()}
	index := 0
	block := func(start object, deltas []object) {
		events = append(events, event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start}))
		for _, d := range deltas {
			events = append(events, event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": d}))
		}
		events = append(events, event("content_block_stop", object{"type": "content_block_stop", "index": index}))
		index++
	}
	if text := s.text(); text != "" {
		var deltas []object
		for _, piece := range pieces(text) {
			deltas = append(deltas, object{"type": "text_delta", "text": piece})
		}
		block(object{"type": "text", "text": ""}, deltas)
	}
	for _, t := range s.Tools {
		var deltas []object
		for _, piece := range pieces(t.Input) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": piece})
		}
		block(object{"type": "tool_use", "id": t.ID, "name": t.Name, "input": object{}}, deltas)
	}
	return append(events, event("message_delta", end), event("message_stop", object{"type": "message_stop"}))
}

func anthropicStop(s Step) string {
	if s.Stop == "" && len(s.Tools) > 0 {
		return "tool_use"
	}
	return or(s.Stop, "end_turn")
}

func (anthropic) plain(Step, string) string { return "<html>a login page</html>" }

func (anthropic) text(piece string) string {
	return event("content_block_delta", object{
		"type": "content_block_delta", "index": 0,
		"delta": object{"type": "text_delta", "text": piece},
	})
}

func (anthropic) life() string { return event("ping", object{"type": "ping"}) }

func (anthropic) failure(_ int, code, message string) string {
	return object{"type": "error", "error": object{"type": or(code, "api_error"), "message": message}}.String()
}

// openAI is the format of OpenAI's chat completions.
type openAI struct{}

func (openAI) chunk(model string, choices []object, more object) string {
	chunk := object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": model, "choices": choices}
	maps.Copy(chunk, more)
	return event("", chunk)
}

func (o openAI) events(s Step, model string) []string {
	delta := func(d object) string {
		return o.chunk(model, []object{{"index": 0, "delta": d, "finish_reason": nil}}, nil)
	}
	events := []string{delta(object{"role": "assistant", "content": ""}), o.life()}
	if text := s.text(); text != "" {
		for _, piece := range pieces(text) {
			events = append(events, delta(object{"content": piece}))
		}
	}
	for i, t := range s.Tools {
		first := object{"index": i, "id": t.ID, "type": "function", "function": object{"name": t.Name, "arguments": ""}}
		events = append(events, delta(object{"tool_calls": []object{first}}))
		for _, piece := range pieces(t.Input) {
			events = append(events, delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}}))
		}
	}
	events = append(events, o.chunk(model, []object{{"index": 0, "delta": object{}, "finish_reason": openAIStop(s)}}, nil))
	if !s.Quiet {
		events = append(events, o.chunk(model, []object{}, object{"usage": openAIUsage(s)}))
	}
	return append(events, "data: [DONE]\n\n")
}

func openAIStop(s Step) string {
	switch stop := anthropicStop(s); stop {
	case "end_turn":
		return "stop"
	case "tool_use":
		return "tool_calls"
	case "max_tokens":
		return "length"
	case "refusal":
		return "content_filter"
	default:
		return stop
	}
}

func openAIUsage(s Step) object {
	u := s.usage()
	return object{
		"prompt_tokens": u.Input + u.CacheRead, "completion_tokens": u.Output,
		"prompt_tokens_details": object{"cached_tokens": u.CacheRead},
	}
}

func (openAI) plain(s Step, model string) string {
	message := object{"role": "assistant", "content": s.text()}
	var calls []object
	for _, t := range s.Tools {
		calls = append(calls, object{"id": t.ID, "type": "function", "function": object{"name": t.Name, "arguments": t.Input}})
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	answer := object{
		"id": "chatcmpl-1", "object": "chat.completion", "model": model,
		"choices": []object{{"index": 0, "message": message, "finish_reason": openAIStop(s)}},
	}
	if !s.Quiet {
		answer["usage"] = openAIUsage(s)
	}
	return answer.String()
}

func (o openAI) text(piece string) string {
	return o.chunk("", []object{{"index": 0, "delta": object{"content": piece}, "finish_reason": nil}}, nil)
}

func (openAI) life() string { return ": still here\n\n" }

func (openAI) failure(_ int, code, message string) string {
	return object{"error": object{"message": message, "type": "error", "code": or(code, "unknown")}}.String()
}

func (o object) String() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("llmtest: %v", err)) // maps of strings and numbers have no such error
	}
	return strings.TrimSpace(string(text))
}
