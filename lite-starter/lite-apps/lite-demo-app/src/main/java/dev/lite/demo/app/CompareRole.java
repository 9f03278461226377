package dev.lite.demo.app;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import java.io.IOException;
import java.nio.file.Files;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/** Reads the file back from remote memory and compares it with the file on disk; counts words on its node meanwhile. */
@Component
@ConditionalOnProperty(name = "lite.demo.role", havingValue = "compare")
final class CompareRole extends MapperRole {

    CompareRole(DemoProperties properties, Lite lite) {
        super(properties, lite);
    }

    @Override
    void whileCounting(Results results, LmrHandle file, Control control) throws IOException {
        long bytes = file.size();
        results.compare(
                "bytes of the LMR and of the file on disk",
                Files.size(properties().file()),
                bytes);
        Sha256 sha = new Sha256();
        Progress progress = new Progress("compare: file read back", bytes);
        new Pieces(file, control).read(0, bytes, progress, sha::add);
        progress.done();
        String read = sha.hex();
        results.put("sha256", read);
        String disk = Sha256.of(properties().file(), new Progress("compare: checksum of the file on disk", bytes));
        results.compare("SHA-256 read back on %s and of the file on disk".formatted(lite().nodeName()), disk, read);
    }

    @Override
    void whenCounted(Results results, Control control) {
        results.put("words", control.get(Control.Word.WORDS));
    }
}
