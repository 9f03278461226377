package dev.lite.mr;

import dev.lite.api.LtRpc;
import dev.lite.mr.data.Run;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The messages between master and workers: each is a sequence of numbers, texts and runs. Reading and writing: one thread each. */
final class Wire {
    /** What a worker asks: the first byte of a request. */
    enum Ask {
        REGISTER,
        NEXT,
        JOB,
        DONE,
        FAILED,
        RELEASED
    }

    /** What a thread of a worker does next: the first byte of a reply to {@link Ask#NEXT}. */
    enum Order {
        WAIT,
        MAP,
        FINISH,
        REDUCE,
        MERGE,
        RELEASE
    }

    /** Why a task failed. */
    enum Failure {
        /** The job fails. */
        JOB,
        /** An input was lost with its worker; the task can run again. */
        INPUT_LOST,
        /** The arenas are full; the task runs again a few times, before the job fails. */
        NO_MEMORY,
        /**
         * A thread cannot write the result of this task, which runs again; or, without a task, its accepted map results: then its worker
         * registers again, so that their tasks run again. A few times, before the job fails.
         */
        UNWRITTEN
    }

    private Wire() {}

    /** A message that is written. */
    static final class Out {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final DataOutputStream data = new DataOutputStream(bytes);

        Out(Enum<?> kind) {
            kind(kind);
        }

        Out() {}

        Out kind(Enum<?> kind) {
            return text(kind.name());
        }

        Out number(long number) {
            return write(() -> data.writeLong(number));
        }

        Out text(String text) {
            byte[] utf8 = text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
            return number(utf8.length).write(() -> data.write(utf8));
        }

        Out numbers(Map<String, Long> numbers) {
            number(numbers.size());
            numbers.forEach((name, value) -> text(name).number(value));
            return this;
        }

        Out texts(Map<String, String> texts) {
            number(texts.size());
            texts.forEach((name, value) -> text(name).text(value));
            return this;
        }

        Out numbers(List<Integer> numbers) {
            number(numbers.size());
            numbers.forEach(this::number);
            return this;
        }

        Out runs(List<Run> runs) {
            number(runs.size());
            for (Run run : runs) {
                number(run.pieces().size());
                for (Run.Piece piece : run.pieces()) {
                    number(piece.id());
                    write(() -> data.writeInt(piece.bytes()));
                }
            }
            return this;
        }

        /**
         * The message.
         *
         * @throws MrException if it is too long
         */
        byte[] toBytes(String what) {
            if (bytes.size() > LtRpc.MESSAGE_BYTES_MAX) {
                throw new MrException(
                        "%s takes %d bytes; a message has at most %d. Use more partitions, or smaller inputs"
                                .formatted(what, bytes.size(), LtRpc.MESSAGE_BYTES_MAX));
            }
            return bytes.toByteArray();
        }

        private Out write(Writing writing) {
            try {
                writing.run();
                return this;
            } catch (IOException e) {
                throw new UncheckedIOException(e); // an array does not fail
            }
        }

        private interface Writing {
            void run() throws IOException;
        }
    }

    /** A message that is read. */
    static final class In {
        private final DataInputStream data;

        In(byte[] message) {
            data = new DataInputStream(new ByteArrayInputStream(message));
        }

        <E extends Enum<E>> E kind(Class<E> type) {
            return Enum.valueOf(type, text());
        }

        long number() {
            return read(data::readLong);
        }

        int integer() {
            return Math.toIntExact(number());
        }

        String text() {
            int length = Math.min(integer(), LtRpc.MESSAGE_BYTES_MAX);
            return read(() -> new String(data.readNBytes(length), java.nio.charset.StandardCharsets.UTF_8));
        }

        Map<String, Long> numbers() {
            Map<String, Long> numbers = new HashMap<>();
            for (int left = integer(); left > 0; left--) {
                numbers.put(text(), number());
            }
            return numbers;
        }

        Map<String, String> texts() {
            Map<String, String> texts = new HashMap<>();
            for (int left = integer(); left > 0; left--) {
                texts.put(text(), text());
            }
            return texts;
        }

        List<Integer> integers() {
            List<Integer> numbers = new ArrayList<>();
            for (int left = integer(); left > 0; left--) {
                numbers.add(integer());
            }
            return numbers;
        }

        List<Run> runs() {
            List<Run> runs = new ArrayList<>();
            for (int left = integer(); left > 0; left--) {
                List<Run.Piece> pieces = new ArrayList<>();
                for (int more = integer(); more > 0; more--) {
                    long id = number();
                    pieces.add(new Run.Piece(id, read(data::readInt)));
                }
                runs.add(new Run(pieces));
            }
            return runs;
        }

        private static <T> T read(Reading<T> reading) {
            try {
                return reading.run();
            } catch (IOException e) {
                throw new UncheckedIOException("a message is too short", e);
            }
        }

        private interface Reading<T> {
            T run() throws IOException;
        }
    }
}
