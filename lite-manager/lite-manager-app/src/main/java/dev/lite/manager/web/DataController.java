package dev.lite.manager.web;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.manager.data.ManagerSession;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import io.swagger.v3.oas.annotations.Operation;
import io.swagger.v3.oas.annotations.Parameter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.coyote.CloseNowException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/**
 * LMRs and their bytes, by the manager's own session with a node and with its rights. Refused unless such a session is
 * configured. Bytes are copied in pieces of {@value #PIECE_BYTES}, so a request needs little memory.
 */
@RestController
@RequestMapping("/api/lmrs")
class DataController {
    private static final Logger log = LoggerFactory.getLogger(DataController.class);

    /** The largest content of a request or response, in bytes. */
    static final long CONTENT_BYTES_MAX = 16 << 20;

    private static final int PIECE_BYTES = 256 << 10;

    /** How much of an answer is written between two looks at the clock. */
    private static final int WRITE_BYTES = 8 << 10;

    /**
     * For a whole body, of a request or an answer, which keeps a request's thread: each read or write alone
     * has the server's limit for a connection.
     */
    private static final Duration BODY_TIME_MAX = Duration.ofMinutes(2);

    private final ManagerSession session;
    private final ClusterDirectory directory;
    private final Duration bodyTime;

    @Autowired
    DataController(ManagerSession session, ClusterDirectory directory) {
        this(session, directory, BODY_TIME_MAX);
    }

    /** @param bodyTime how long the body of a request or an answer may take */
    DataController(ManagerSession session, ClusterDirectory directory, Duration bodyTime) {
        this.session = session;
        this.directory = directory;
        this.bodyTime = bodyTime;
    }

    /**
     * Parameters of a new LMR.
     *
     * @param name its name
     * @param bytes its size
     * @param nodes the nodes that store it in turn; default: the node of the manager's session
     * @param defaultPermissions what every principal may do; default: nothing
     */
    record CreateRequest(
            @Nullable String name,
            @Nullable Long bytes,
            @Nullable List<String> nodes,
            @Nullable Set<Permission> defaultPermissions) {}

    /**
     * Parameters of a grant.
     *
     * @param principal the principal
     * @param permissions all that it may do from now on; empty: nothing
     */
    record GrantRequest(
            @Nullable String principal, @Nullable Set<Permission> permissions) {}

    @Operation(summary = "Create an LMR, filled with zeros; it stays until it is freed")
    @PostMapping
    ResponseEntity<Void> create(@RequestBody CreateRequest request) {
        String name = required("name", request.name());
        Long bytes = required("bytes", request.bytes());
        Set<Permission> others = request.defaultPermissions() == null ? Set.of() : request.defaultPermissions();
        requireNoNull("nodes", request.nodes() == null ? List.of() : request.nodes());
        LtMemory memory = memory();
        LmrSpec spec = checked(
                "name",
                name,
                () -> LmrSpec.of(bytes)
                        .withName(name)
                        .withPlacement(request.nodes() == null ? Placement.local() : Placement.on(request.nodes()))
                        .withDefaultPermissions(others.toArray(Permission[]::new)));
        try {
            memory.malloc(spec).close();
        } catch (NodeUnreachableException e) {
            throw Refusals.ofNodes(request.nodes() == null ? List.of() : request.nodes(), directory, e);
        }
        String path = URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
        return ResponseEntity.created(URI.create("/api/lmrs/" + path)).build();
    }

    @Operation(summary = "Free an LMR for all applications")
    @DeleteMapping("/{name}")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    void free(@PathVariable String name) {
        mapped(name, Permission.MASTER, LmrHandle::free);
    }

    @Operation(summary = "Set what a principal may do with an LMR, in place of all that it was granted before")
    @PostMapping("/{name}/grants")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    void grant(@PathVariable String name, @RequestBody GrantRequest request) {
        String principal = required("principal", request.principal());
        Set<Permission> permissions = required("permissions", request.permissions());
        Set<Permission> unused = checked("principal", principal, () -> LmrHandle.checkGrant(principal, permissions));
        mapped(name, Permission.MASTER, handle -> handle.grant(principal, permissions));
    }

    @Operation(summary = "The bytes of an LMR, at most 16 MiB in a request")
    @GetMapping(path = "/{name}/content", produces = MediaType.APPLICATION_OCTET_STREAM_VALUE)
    void read(
            @PathVariable String name,
            @Parameter(description = "The first byte") @RequestParam(defaultValue = "0") long offset,
            @Parameter(description = "The number of bytes; default: up to the end")
                    @RequestParam(required = false)
                    @Nullable
                    Long length,
            HttpServletRequest request,
            HttpServletResponse response)
            throws IOException {
        Client.requireOperator(request); // the bytes belong to applications
        try (LmrHandle handle = map(name, Permission.READ)) {
            checkOffset(handle, offset);
            long bytes = length == null ? handle.size() - offset : length;
            long most = Math.min(CONTENT_BYTES_MAX, handle.size() - offset);
            if (bytes < 0 || bytes > most) {
                throw Refusals.badValue("length", bytes, "0 to " + most);
            }
            byte[] piece = new byte[PIECE_BYTES];
            int part = read(handle, offset, piece, bytes);
            // Only now: an error has a length of its own.
            response.setContentType(MediaType.APPLICATION_OCTET_STREAM_VALUE);
            response.setContentLengthLong(bytes);
            OutputStream out = response.getOutputStream();
            Deadline deadline = Deadline.in(bodyTime);
            for (long at = 0; at < bytes; part = read(handle, offset + at, piece, bytes - at)) {
                write(out, piece, part, deadline);
                at += part;
            }
        }
    }

    /**
     * Writes a piece of an answer, in parts that a connection takes within the server's limit.
     *
     * @throws CloseNowException at the deadline: the server then closes the connection, as the answer is not
     *     complete
     */
    private static void write(OutputStream out, byte[] piece, int length, Deadline deadline) throws IOException {
        for (int at = 0; at < length; at += WRITE_BYTES) {
            if (deadline.passed()) {
                log.warn(
                        "the client did not take the bytes of an LMR within {}; its connection is closed",
                        Durations.text(deadline.duration()));
                throw new CloseNowException("the client did not take the answer in time");
            }
            out.write(piece, at, Math.min(WRITE_BYTES, length - at));
        }
    }

    /** Reads the next piece; returns its length, 0 if no bytes are left. */
    private static int read(LmrHandle handle, long offset, byte[] piece, long left) {
        int part = (int) Math.min(piece.length, left);
        if (part > 0) {
            reaching(() -> handle.read(offset, MemorySegment.ofArray(piece).asSlice(0, part)));
        }
        return part;
    }

    @Operation(summary = "Write bytes into an LMR, at most 16 MiB in a request")
    @PutMapping(path = "/{name}/content", consumes = MediaType.APPLICATION_OCTET_STREAM_VALUE)
    @ResponseStatus(HttpStatus.NO_CONTENT)
    void write(
            @PathVariable String name,
            @Parameter(description = "Where the first byte goes") @RequestParam(defaultValue = "0") long offset,
            HttpServletRequest request)
            throws IOException {
        try (LmrHandle handle = map(name, Permission.WRITE)) {
            checkOffset(handle, offset);
            long bytes = request.getContentLengthLong();
            if (bytes > handle.size() - offset) {
                throw Refusals.badValue("Content-Length", bytes, "0 to " + (handle.size() - offset));
            }
            InputStream in = request.getInputStream();
            byte[] piece = new byte[PIECE_BYTES];
            long at = offset;
            Deadline deadline = Deadline.in(bodyTime);
            for (int part = read(in, piece, deadline); part > 0; part = read(in, piece, deadline)) {
                write(handle, at, MemorySegment.ofArray(piece).asSlice(0, part));
                at += part;
            }
        }
    }

    /** Reads the next piece of a body; returns its length, 0 at the end. */
    private static int read(InputStream in, byte[] piece, Deadline deadline) throws IOException {
        int part = 0;
        while (part < piece.length) {
            int more = in.read(piece, part, piece.length - part);
            if (more < 0) {
                break;
            }
            part += more;
            if (deadline.passed()) {
                throw Refusals.late(deadline.duration());
            }
        }
        return part;
    }

    private static void write(LmrHandle handle, long offset, MemorySegment piece) {
        reaching(() -> handle.write(offset, piece));
    }

    private static void checkOffset(LmrHandle handle, long offset) {
        if (offset < 0 || offset > handle.size()) {
            throw Refusals.badValue("offset", offset, "0 to " + handle.size());
        }
    }

    private void mapped(String name, Permission permission, Consumer<LmrHandle> action) {
        try (LmrHandle handle = map(name, permission)) {
            reaching(() -> action.accept(handle));
        }
    }

    private LmrHandle map(String name, Permission permission) {
        LtMemory memory = memory();
        boolean unused = checked("name", name, () -> {
            LmrSpec.checkName(name);
            return true;
        });
        return reached(() -> memory.map(name, EnumSet.of(permission)));
    }

    /** A node that does not answer is no LMR that does not exist. */
    private static LmrHandle reached(Supplier<LmrHandle> action) {
        try {
            return action.get();
        } catch (NodeUnreachableException e) {
            throw Refusals.away(e);
        }
    }

    /** {@link #reached} for an action without a result. */
    private static void reaching(Runnable action) {
        try {
            action.run();
        } catch (NodeUnreachableException e) {
            throw Refusals.away(e);
        }
    }

    private LtMemory memory() {
        return session.memory().orElseThrow(Refusals::noSession);
    }

    private static <T> T required(String field, @Nullable T value) {
        if (value == null) {
            throw Refusals.badValue(field, "missing", "given");
        }
        return value;
    }

    private static void requireNoNull(String field, Collection<?> values) {
        if (values.stream().anyMatch(Objects::isNull)) {
            throw Refusals.badValue(field, values.toString(), "a list without null");
        }
    }

    private static <T> T checked(String what, Object value, Supplier<T> action) {
        try {
            return action.get();
        } catch (IllegalArgumentException e) {
            throw Refusals.badValue(what, value.toString(), e);
        }
    }
}
