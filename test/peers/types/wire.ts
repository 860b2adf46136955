// The wire types that mcp-raw.ts exports under a name of the specification are
// the specification's own. A test sees to it that no such name is missing here;
// one that is meant to differ stands as a comment that says why:
//
//   // Name: differs, because …

import type * as Ours from "../../../mcp-raw.ts";
import type * as Spec from "../.generated/spec-2026-07-28.ts";
import type { Same, True } from "./mutual.ts";

export type RequestId = True<Same<Ours.RequestId, Spec.RequestId>>;
export type JSONRPCNotification = True<Same<Ours.JSONRPCNotification, Spec.JSONRPCNotification>>;
export type JSONRPCRequest = True<Same<Ours.JSONRPCRequest, Spec.JSONRPCRequest>>;
export type JSONRPCResultResponse = True<Same<
  Ours.JSONRPCResultResponse, Spec.JSONRPCResultResponse>>;
export type JSONRPCErrorResponse = True<Same<Ours.JSONRPCErrorResponse, Spec.JSONRPCErrorResponse>>;
export type JSONRPCResponse = True<Same<Ours.JSONRPCResponse, Spec.JSONRPCResponse>>;
export type JSONRPCMessage = True<Same<Ours.JSONRPCMessage, Spec.JSONRPCMessage>>;
export type Result = True<Same<Ours.Result, Spec.Result>>;
export type Implementation = True<Same<Ours.Implementation, Spec.Implementation>>;
export type Icon = True<Same<Ours.Icon, Spec.Icon>>;
export type JSONObject = True<Same<Ours.JSONObject, Spec.JSONObject>>;
export type JSONValue = True<Same<Ours.JSONValue, Spec.JSONValue>>;
export type RequestParams = True<Same<Ours.RequestParams, Spec.RequestParams>>;
export type DiscoverResult = True<Same<Ours.DiscoverResult, Spec.DiscoverResult>>;
export type Annotations = True<Same<Ours.Annotations, Spec.Annotations>>;
export type TextContent = True<Same<Ours.TextContent, Spec.TextContent>>;
export type ImageContent = True<Same<Ours.ImageContent, Spec.ImageContent>>;
export type AudioContent = True<Same<Ours.AudioContent, Spec.AudioContent>>;
export type Resource = True<Same<Ours.Resource, Spec.Resource>>;
export type ResourceLink = True<Same<Ours.ResourceLink, Spec.ResourceLink>>;
export type ResourceContents = True<Same<Ours.ResourceContents, Spec.ResourceContents>>;
export type TextResourceContents = True<Same<Ours.TextResourceContents, Spec.TextResourceContents>>;
export type BlobResourceContents = True<Same<Ours.BlobResourceContents, Spec.BlobResourceContents>>;
export type EmbeddedResource = True<Same<Ours.EmbeddedResource, Spec.EmbeddedResource>>;
export type ContentBlock = True<Same<Ours.ContentBlock, Spec.ContentBlock>>;
export type CallToolResult = True<Same<Ours.CallToolResult, Spec.CallToolResult>>;
export type ListResourcesResult = True<Same<Ours.ListResourcesResult, Spec.ListResourcesResult>>;
export type ReadResourceResult = True<Same<Ours.ReadResourceResult, Spec.ReadResourceResult>>;
export type ToolAnnotations = True<Same<Ours.ToolAnnotations, Spec.ToolAnnotations>>;
export type Tool = True<Same<Ours.Tool, Spec.Tool>>;
export type ListToolsResult = True<Same<Ours.ListToolsResult, Spec.ListToolsResult>>;

// filled by several chapters
export type ClientCapabilities = True<Same<Ours.ClientCapabilities, Spec.ClientCapabilities>>;
export type ServerCapabilities = True<Same<Ours.ServerCapabilities, Spec.ServerCapabilities>>;
export type RequestMetaObject = True<Same<Ours.RequestMetaObject, Spec.RequestMetaObject>>;
export type CallToolRequestParams = True<Same<
  Ours.CallToolRequestParams, Spec.CallToolRequestParams>>;
export type ReadResourceRequestParams = True<Same<
  Ours.ReadResourceRequestParams, Spec.ReadResourceRequestParams>>;
export type GetPromptRequestParams = True<Same<
  Ours.GetPromptRequestParams, Spec.GetPromptRequestParams>>;

// lists
export type CacheableResult = True<Same<Ours.CacheableResult, Spec.CacheableResult>>;
export type PaginatedResult = True<Same<Ours.PaginatedResult, Spec.PaginatedResult>>;

// resources
export type ResourceTemplate = True<Same<Ours.ResourceTemplate, Spec.ResourceTemplate>>;
export type ListResourceTemplatesResult = True<Same<
  Ours.ListResourceTemplatesResult, Spec.ListResourceTemplatesResult>>;

// prompts and completion
export type Prompt = True<Same<Ours.Prompt, Spec.Prompt>>;
export type PromptArgument = True<Same<Ours.PromptArgument, Spec.PromptArgument>>;
export type PromptMessage = True<Same<Ours.PromptMessage, Spec.PromptMessage>>;
export type ListPromptsResult = True<Same<Ours.ListPromptsResult, Spec.ListPromptsResult>>;
export type GetPromptResult = True<Same<Ours.GetPromptResult, Spec.GetPromptResult>>;
export type PromptReference = True<Same<Ours.PromptReference, Spec.PromptReference>>;
export type ResourceTemplateReference = True<Same<
  Ours.ResourceTemplateReference, Spec.ResourceTemplateReference>>;
export type CompleteRequestParams = True<Same<
  Ours.CompleteRequestParams, Spec.CompleteRequestParams>>;
export type CompleteResult = True<Same<Ours.CompleteResult, Spec.CompleteResult>>;

// progress and logging
export type ProgressNotificationParams = True<Same<
  Ours.ProgressNotificationParams, Spec.ProgressNotificationParams>>;
export type LoggingLevel = True<Same<Ours.LoggingLevel, Spec.LoggingLevel>>;
export type LoggingMessageNotificationParams = True<Same<
  Ours.LoggingMessageNotificationParams, Spec.LoggingMessageNotificationParams>>;

// elicitation
export type StringSchema = True<Same<Ours.StringSchema, Spec.StringSchema>>;
export type NumberSchema = True<Same<Ours.NumberSchema, Spec.NumberSchema>>;
export type BooleanSchema = True<Same<Ours.BooleanSchema, Spec.BooleanSchema>>;
export type UntitledSingleSelectEnumSchema = True<Same<
  Ours.UntitledSingleSelectEnumSchema, Spec.UntitledSingleSelectEnumSchema>>;
export type TitledSingleSelectEnumSchema = True<Same<
  Ours.TitledSingleSelectEnumSchema, Spec.TitledSingleSelectEnumSchema>>;
export type LegacyTitledEnumSchema = True<Same<
  Ours.LegacyTitledEnumSchema, Spec.LegacyTitledEnumSchema>>;
export type UntitledMultiSelectEnumSchema = True<Same<
  Ours.UntitledMultiSelectEnumSchema, Spec.UntitledMultiSelectEnumSchema>>;
export type TitledMultiSelectEnumSchema = True<Same<
  Ours.TitledMultiSelectEnumSchema, Spec.TitledMultiSelectEnumSchema>>;
export type EnumSchema = True<Same<Ours.EnumSchema, Spec.EnumSchema>>;
export type PrimitiveSchemaDefinition = True<Same<
  Ours.PrimitiveSchemaDefinition, Spec.PrimitiveSchemaDefinition>>;
export type ElicitRequestFormParams = True<Same<
  Ours.ElicitRequestFormParams, Spec.ElicitRequestFormParams>>;
export type ElicitRequestURLParams = True<Same<
  Ours.ElicitRequestURLParams, Spec.ElicitRequestURLParams>>;
export type ElicitRequestParams = True<Same<Ours.ElicitRequestParams, Spec.ElicitRequestParams>>;
export type ElicitRequest = True<Same<Ours.ElicitRequest, Spec.ElicitRequest>>;
export type ElicitResult = True<Same<Ours.ElicitResult, Spec.ElicitResult>>;

// sampling and roots
export type ToolUseContent = True<Same<Ours.ToolUseContent, Spec.ToolUseContent>>;
export type ToolResultContent = True<Same<Ours.ToolResultContent, Spec.ToolResultContent>>;
export type SamplingMessageContentBlock = True<Same<
  Ours.SamplingMessageContentBlock, Spec.SamplingMessageContentBlock>>;
export type SamplingMessage = True<Same<Ours.SamplingMessage, Spec.SamplingMessage>>;
export type ModelHint = True<Same<Ours.ModelHint, Spec.ModelHint>>;
export type ModelPreferences = True<Same<Ours.ModelPreferences, Spec.ModelPreferences>>;
export type ToolChoice = True<Same<Ours.ToolChoice, Spec.ToolChoice>>;
export type CreateMessageRequestParams = True<Same<
  Ours.CreateMessageRequestParams, Spec.CreateMessageRequestParams>>;
export type CreateMessageRequest = True<Same<Ours.CreateMessageRequest, Spec.CreateMessageRequest>>;
export type CreateMessageResult = True<Same<Ours.CreateMessageResult, Spec.CreateMessageResult>>;
export type Root = True<Same<Ours.Root, Spec.Root>>;
export type ListRootsRequest = True<Same<Ours.ListRootsRequest, Spec.ListRootsRequest>>;
export type ListRootsResult = True<Same<Ours.ListRootsResult, Spec.ListRootsResult>>;

// round trips
export type InputRequest = True<Same<Ours.InputRequest, Spec.InputRequest>>;
export type InputResponse = True<Same<Ours.InputResponse, Spec.InputResponse>>;
export type InputRequests = True<Same<Ours.InputRequests, Spec.InputRequests>>;
export type InputResponses = True<Same<Ours.InputResponses, Spec.InputResponses>>;
export type InputRequiredResult = True<Same<Ours.InputRequiredResult, Spec.InputRequiredResult>>;
export type InputResponseRequestParams = True<Same<
  Ours.InputResponseRequestParams, Spec.InputResponseRequestParams>>;

// subscriptions
export type SubscriptionFilter = True<Same<Ours.SubscriptionFilter, Spec.SubscriptionFilter>>;
export type SubscriptionsListenRequestParams = True<Same<
  Ours.SubscriptionsListenRequestParams, Spec.SubscriptionsListenRequestParams>>;
export type SubscriptionsListenResult = True<Same<
  Ours.SubscriptionsListenResult, Spec.SubscriptionsListenResult>>;
export type SubscriptionsAcknowledgedNotificationParams = True<Same<
  Ours.SubscriptionsAcknowledgedNotificationParams,
  Spec.SubscriptionsAcknowledgedNotificationParams>>;
export type ResourceUpdatedNotificationParams = True<Same<
  Ours.ResourceUpdatedNotificationParams, Spec.ResourceUpdatedNotificationParams>>;
