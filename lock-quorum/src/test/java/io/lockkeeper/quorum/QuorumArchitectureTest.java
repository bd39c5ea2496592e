/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** What the module may depend on, and what it shows. */
class QuorumArchitectureTest {

    private static final JavaClasses QUORUM = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .withImportOption(new ImportOption.DoNotIncludeJars())
            .importPackages("io.lockkeeper.quorum");

    @Test
    void theQuorumStandsOnTheStoreInterfaceAlone() {
        classes()
                .that()
                .resideInAPackage("io.lockkeeper.quorum")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("io.lockkeeper.quorum", "io.lockkeeper.store", "java..", "org.jspecify..")
                .because("its masters may be stores of any kind")
                .check(QUORUM);
    }

    @Test
    void onlyTheStoreIsPublic() {
        classes()
                .that()
                .areTopLevelClasses()
                .and()
                .arePublic()
                .should()
                .haveSimpleName("QuorumLockStore")
                .check(QUORUM);
    }
}
