package dev.lite.manager.web;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.NodeUnreachableException;
import java.util.Collection;
import org.apache.tomcat.util.http.InvalidParameterException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.http.converter.HttpMessageNotReadableException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.context.request.WebRequest;
import org.springframework.web.servlet.mvc.method.annotation.ResponseEntityExceptionHandler;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.exc.UnrecognizedPropertyException;

/** Maps errors to problem details (RFC 9457); the superclass handles Spring MVC's own. */
@RestControllerAdvice
class ProblemAdvice extends ResponseEntityExceptionHandler {
    private static final Logger log = LoggerFactory.getLogger(ProblemAdvice.class);

    @ExceptionHandler
    ResponseEntity<ProblemDetail> away(ClusterUnavailableException e) {
        return ResponseEntity.status(HttpStatus.SERVICE_UNAVAILABLE)
                .header(HttpHeaders.RETRY_AFTER, "1")
                .body(problem(HttpStatus.SERVICE_UNAVAILABLE, e));
    }

    @ExceptionHandler
    ResponseEntity<ProblemDetail> full(LimitExceededException e) {
        return ResponseEntity.status(HttpStatus.CONFLICT).body(problem(HttpStatus.CONFLICT, e));
    }

    /** The query cannot be decoded, for example {@code ?after=%ff}. */
    @ExceptionHandler
    ResponseEntity<ProblemDetail> undecodable(InvalidParameterException e) {
        return ResponseEntity.badRequest().body(problem(HttpStatus.BAD_REQUEST, e));
    }

    @ExceptionHandler
    ResponseEntity<ProblemDetail> noSuchNode(NodeUnreachableException e) {
        return ResponseEntity.status(HttpStatus.NOT_FOUND).body(problem(HttpStatus.NOT_FOUND, e));
    }

    /** Errors of the manager's own session with a node. */
    @ExceptionHandler
    ResponseEntity<ProblemDetail> ofSession(LiteException e) {
        HttpStatus status = switch (e.code()) {
            case LMR_NOT_FOUND, LMR_FREED -> HttpStatus.NOT_FOUND;
            case LMR_EXISTS -> HttpStatus.CONFLICT;
            case LMR_PERMISSION -> HttpStatus.FORBIDDEN;
            case LMR_BOUNDS -> HttpStatus.BAD_REQUEST;
            default -> HttpStatus.SERVICE_UNAVAILABLE;
        };
        return ResponseEntity.status(status).body(problem(status, e));
    }

    /** Names the field of a request's body that is unknown or has a wrong value. */
    @Override
    protected @Nullable ResponseEntity<Object> handleHttpMessageNotReadable(
            HttpMessageNotReadableException e, HttpHeaders headers, HttpStatusCode status, WebRequest request) {
        if (!(e.getCause() instanceof JacksonException wrong)) {
            return super.handleHttpMessageNotReadable(e, headers, status, request);
        }
        String field = null;
        for (JacksonException.Reference part : wrong.getPath()) {
            field = part.getPropertyName() == null ? field : part.getPropertyName(); // an element of a list has no name
        }
        String detail;
        if (wrong instanceof UnrecognizedPropertyException unknown) {
            Collection<Object> known = unknown.getKnownPropertyIds();
            detail = "the request's body has the unknown field \"%s\"; %s"
                    .formatted(
                            field,
                            known == null || known.isEmpty() ? "it has no fields" : "the known fields are " + known);
        } else if (field != null) {
            detail = "the field \"%s\" of the request's body is invalid: %s"
                    .formatted(field, wrong.getOriginalMessage());
        } else {
            detail = "the request's body is no valid JSON: " + wrong.getOriginalMessage();
        }
        ProblemDetail problem = ProblemDetail.forStatusAndDetail(status, detail);
        if (field != null) {
            problem.setProperty("parameter", field);
        }
        return handleExceptionInternal(e, problem, headers, status, request);
    }

    @ExceptionHandler
    ResponseEntity<ProblemDetail> unexpected(RuntimeException e) {
        log.error("A request failed", e);
        return ResponseEntity.internalServerError()
                .body(ProblemDetail.forStatusAndDetail(
                        HttpStatus.INTERNAL_SERVER_ERROR, "internal error; see the manager's log"));
    }

    private static ProblemDetail problem(HttpStatus status, RuntimeException e) {
        return ProblemDetail.forStatusAndDetail(status, String.valueOf(e.getMessage()));
    }
}
