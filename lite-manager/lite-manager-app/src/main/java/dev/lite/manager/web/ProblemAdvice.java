package dev.lite.manager.web;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LimitExceededException;
import dev.lite.api.NodeUnreachableException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.servlet.mvc.method.annotation.ResponseEntityExceptionHandler;

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

    @ExceptionHandler
    ResponseEntity<ProblemDetail> noSuchNode(NodeUnreachableException e) {
        return ResponseEntity.status(HttpStatus.NOT_FOUND).body(problem(HttpStatus.NOT_FOUND, e));
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
